#!/bin/sh
# What only a GPU can tell about device "cuda", on a bare machine with an NVIDIA driver, Python 3.12 and pip: less than
# eight minutes. Run it in the root of the tree: benchmarks/gpu_check.sh [folder for results]. Each part has its own
# limit, and a part that fails does not keep the others from running. WITHOUT_TORCH=1 leaves the comparison out.
set -u
out=$(mkdir -p "${1:-gpu-check}" && cd "${1:-gpu-check}" && pwd)
here=$(pwd)
part() {
    name=$1 limit=$2
    shift 2
    begun=$(date +%s)
    timeout "$limit" "$@" >"$out/$name.txt" 2>&1
    echo "$name: exit $? in $(($(date +%s) - begun)) s; $(tail -n 1 "$out/$name.txt")" | tee -a "$out/summary.txt"
}
: >"$out/summary.txt"
nvidia-smi | tee "$out/driver.txt" || { echo "there is no driver"; exit 1; }
extra=cuda12
nvidia-smi | grep -q "CUDA Version: 1[3-9]" && extra=cuda13
python3 -m venv "$out/environment"
python="$out/environment/bin/python"
"$python" -m pip install --quiet "$here[$extra,test]"
[ -n "${WITHOUT_TORCH:-}" ] || "$python" -m pip install --quiet torch
cd "$out" || exit 1
part doctor 60 "$python" -m polyad doctor --device cuda
part demo 60 "$python" -m polyad demo --device cuda
part storage 60 "$python" -m polyad conformance cuda --tier 0
part conformance 120 "$python" -m pytest -q -n 8 --pyargs polyad_conformance --polyad-backend=cuda --polyad-shard=1/40
# What NVIDIA's libraries compute, whole: which of them were proved here is in the last line of speed.txt.
part libraries 60 "$python" -m pytest -q -n 8 --pyargs polyad_conformance --polyad-backend=cuda \
    --polyad-family=nn.convolution --polyad-family=nn.attention
part speed 180 "$python" "$here/benchmarks/gpu_speed.py"
cat "$out/summary.txt" "$out/speed.txt"
