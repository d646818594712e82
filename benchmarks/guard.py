"""`make bench-quick`: is this checkout slower, or less accurate, than what was committed last?

Times depend on the machine, but their ratio to python-crfsuite's in the same run does so much less. This
ratio is compared with the one in benchmarks/reference.json. Times are CPU seconds, the best of three
alternating runs. After an intended change, `--record` updates the reference.
"""

from __future__ import annotations

import json
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.harness import cpu_timed, in_own_process, machine, table
from benchmarks.peers.measuring import score
from benchmarks.peers.tasks import TASKS, prepare

REFERENCE = Path(__file__).parent / "reference.json"
TOLERANCE = 0.25  # a ratio may be worse by so much
LOSS = 0.3  # F1 may be worse by so much
REPEATS = 3
PEER = "crfsuite ap"
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "greedy, 1 pass": ("ours", {"inference": "greedy", "epochs": 1}),
    PEER: ("crfsuite", {"algorithm": "ap", "max_iterations": 5}),
    "exact, 1 pass": ("ours", {"inference": "exact", "epochs": 1}),
}


def measure(module: str, options: dict[str, Any], folder: str) -> dict[str, Any]:
    """CPU seconds of training on the chunking file and of labelling it; called in its own process."""
    program = import_module(f"benchmarks.peers.{module}")
    for package in program.IMPORTS:
        import_module(package)
    task, here = TASKS["chunking"], Path(folder)
    files = here / "train.txt", here / "model"
    _, training = cpu_timed(lambda: program.train(task, options, *files))
    _, labelling = cpu_timed(lambda: program.label(task, options, *files, here / "again.txt"))
    program.label(task, options, here / "test.txt", here / "model", here / "output.txt")
    return {"train": training, "label": labelling}


def ratios() -> dict[str, float]:
    """How many times as fast as the peer, and F1."""
    best: dict[str, dict[str, float]] = {}
    f1 = {}
    with tempfile.TemporaryDirectory() as folder:
        prepare("chunking", Path(folder))
        for _ in range(REPEATS):
            for name, (module, options) in METHODS.items():
                job = {"module": module, "options": options, "folder": folder}
                found = in_own_process("benchmarks.guard", job)
                f1[name] = score("chunking", Path(folder, "output.txt"))["score"]
                known = best.setdefault(name, found)
                best[name] = {key: min(known[key], found[key]) for key in known}
    result = {}
    for name in METHODS:
        if name != PEER:
            for key in ("train", "label"):
                result[f"{name}: {key}, times as fast"] = best[PEER][key] / best[name][key]
            result[f"{name}: F1"] = f1[name]
    return result


def worse(name: str, value: float, reference: float) -> bool:
    """
    >>> worse("greedy: train, times as fast", 5.0, 6.0), worse("greedy: train, times as fast", 4.0, 6.0)
    (False, True)
    >>> worse("greedy: F1", 93.2, 93.4), worse("greedy: F1", 92.9, 93.4)
    (False, True)
    """
    return value < (reference - LOSS if name.endswith("F1") else reference * (1 - TOLERANCE))


def main(*, record: bool = False) -> None:
    """Compare with the reference, and end with exit code 1 where something is worse."""
    found = ratios()
    if record:
        REFERENCE.write_text(json.dumps({"machine": machine(), "ratios": found}, indent=1) + "\n")
    reference = json.loads(REFERENCE.read_text())["ratios"]
    failed = [name for name in reference if worse(name, found[name], reference[name])]
    rows = [
        [name, f"{reference[name]:.2f}", f"{found[name]:.2f}", "WORSE" if name in failed else ""]
        for name in reference
    ]
    print(
        table(["ratio to python-crfsuite's averaged perceptron, 5 iterations", "reference", "now", ""], rows)
    )
    print(f"\nAllowed: {100 * TOLERANCE:.0f}% of a ratio, {LOSS} of F1. {machine()}")
    if failed:
        sys.exit(f"worse than the reference: {'; '.join(failed)}")
