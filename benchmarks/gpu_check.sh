#!/bin/sh
# What only a GPU can tell about device "cuda", on a bare machine with an NVIDIA driver, Python 3.12 and pip: less than
# eight minutes, installing included. Run it in the root of the tree: benchmarks/gpu_check.sh [folder for results]. Each
# part has its own limit, and what is left of the whole; a part that fails does not keep the others from running.
# WITHOUT_TORCH=1 leaves the comparison out.
set -u
started=$(date +%s)
whole=470
out=$(mkdir -p "${1:-gpu-check}" && cd "${1:-gpu-check}" && pwd) || exit 1
here=$(pwd)
: >"$out/summary.txt"
part() {
    name=$1 limit=$2
    shift 2
    begun=$(date +%s)
    left=$((whole - begun + started))
    if [ "$left" -lt 5 ]; then
        echo "$name: no time was left" | tee -a "$out/summary.txt"
        return 1
    fi
    [ "$limit" -lt "$left" ] || limit=$left
    timeout -k 5 "$limit" "$@" >"$out/$name.txt" 2>&1
    status=$?
    told="exit $status in $(($(date +%s) - begun)) s"
    [ "$status" -ne 124 ] || told="stopped after $limit s"
    echo "$name: $told; $(tail -n 1 "$out/$name.txt")" | tee -a "$out/summary.txt"
    return "$status"
}
nvidia-smi >"$out/driver.txt" 2>&1 || { cat "$out/driver.txt"; echo "there is no driver"; exit 1; }
cat "$out/driver.txt"
# PyTorch's wheels on PyPI are for the newest CUDA, which the drivers of an older one do not run.
extra=cuda12 wheels=https://download.pytorch.org/whl/cu126
if grep -Eq "CUDA[A-Za-z ]* Version: *1[3-9]" "$out/driver.txt"; then extra=cuda13 wheels=https://pypi.org/simple; fi
# Distributions keep the package that gives an environment its pip apart; the system's installs into it as well.
python3 -m venv --without-pip "$out/environment" || exit 1
python="$out/environment/bin/python"
install() {
    name=$1
    shift
    part "$name" 240 python3 -m pip --python "$python" install --quiet "$here[$extra,test]" "$@"
}
# One call for both: each has its wishes about NVIDIA's libraries, which are large.
if [ -n "${WITHOUT_TORCH:-}" ] || ! install install torch --extra-index-url "$wheels"; then
    install install-alone || { cat "$out/install-alone.txt"; exit 1; }
fi
cd "$out" || exit 1
part doctor 60 "$python" -m polyad doctor --device cuda
part demo 60 "$python" -m polyad demo --device cuda
part speed 150 "$python" "$here/benchmarks/gpu_speed.py"
part conformance 100 "$python" -m pytest -q -n 8 --pyargs polyad_conformance --polyad-backend=cuda --polyad-shard=1/80
# What NVIDIA's libraries compute: which of them were proved here is in the last line of speed.txt.
part libraries 60 "$python" -m pytest -q -n 8 --pyargs polyad_conformance --polyad-backend=cuda \
    --polyad-family=nn.convolution --polyad-family=nn.attention --polyad-shard=1/4
part storage 60 "$python" -m polyad conformance cuda --tier 0
part leaks 40 "$python" "$here/benchmarks/gpu_leaks.py"
cat "$out/summary.txt" "$out/speed.txt"
