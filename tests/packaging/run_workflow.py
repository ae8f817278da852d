"""The steps of a GitHub workflow, run here, in their order: what is misspelt in it is found before it is pushed.

    python run_workflow.py FOLDER/.github/workflows/test.yml FOLDER BIN [matrix.part=1/8 ...]

Commands run in FOLDER, with GitHub's shell, and are looked for in BIN first; PyYAML is needed. Of each axis of a matrix
the first value is taken, or the one that is given. Steps that use an action are checked, not done: the action and its
inputs have to be in `ACTIONS`, and files to upload have to be there.

Keys, conditions and expressions that are not listed here are refused, since nothing else reads them before GitHub does.
To use another, add it below.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

ACTIONS = {
    "actions/checkout@v6": (),
    "actions/setup-python@v6": ("python-version",),
    "actions/upload-artifact@v7": ("name", "path"),
}
"""Actions at their current major versions, with the inputs that are understood."""

CONDITIONS = ("always()",)


def refuse_others(where, found, known):
    for one in found:
        if one not in known:
            sys.exit(f"{where}: {one!r} is none of {', '.join(known)}")


def filled(where, text, values):
    """*text* with each ``${{ expression }}`` replaced by its value."""

    def value(match):
        refuse_others(where, [match[1]], list(values))
        return values[match[1]]

    return re.sub(r"\$\{\{\s*(.*?)\s*\}\}", value, str(text))


def run_step(where, step, folder, values):
    refuse_others(where, step, ("name", "if", "run", "uses", "with"))
    refuse_others(where, [step["if"]] if "if" in step else [], CONDITIONS)
    if ("run" in step) == ("uses" in step):
        sys.exit(f"{where}: it has to say either what to run or what to use")
    if "run" in step:
        command = filled(where, step["run"], values)
        print(f"$ {command}", flush=True)
        subprocess.run(["bash", "-e", "-c", command], cwd=folder, check=True)
        return
    refuse_others(where, [step["uses"]], list(ACTIONS))
    inputs = {name: filled(where, value, values) for name, value in step.get("with", {}).items()}
    refuse_others(where, inputs, ACTIONS[step["uses"]])
    if step["uses"].startswith("actions/upload-artifact") and not (Path(folder) / inputs["path"]).exists():
        sys.exit(f"{where}: no step made {inputs['path']}")


def run_job(where, job, folder, given):
    refuse_others(where, job, ("runs-on", "strategy", "steps"))
    refuse_others(where, [job["runs-on"]], ("ubuntu-latest",))
    strategy = job.get("strategy", {})
    refuse_others(where, strategy, ("fail-fast", "matrix"))
    values = {f"matrix.{axis}": entries[0] for axis, entries in strategy.get("matrix", {}).items()}
    refuse_others(where, given, list(values))
    values |= {"strategy.job-index": "0"} | given
    for number, step in enumerate(job["steps"], 1):
        run_step(f"{where}, step {number}", step, folder, values)


def main(path, folder, first, *given):
    os.environ["PATH"] = os.pathsep.join((first, os.environ["PATH"]))
    # YAML 1.1 reads the key "on" as true.
    workflow = {"on" if key is True else key: value for key, value in yaml.safe_load(Path(path).read_text()).items()}
    refuse_others(path, workflow, ("name", "on", "jobs"))
    refuse_others(path, workflow["on"], ("push", "pull_request"))
    for name, job in workflow["jobs"].items():
        run_job(f"{path}: {name}", job, folder, dict(one.split("=", 1) for one in given))


if __name__ == "__main__":
    main(*sys.argv[1:])
