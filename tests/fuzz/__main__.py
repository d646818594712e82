"""`python -m tests.fuzz TARGET ... --seconds 60 --seed 0`

A worker process runs the cases. A crash, an exception that is not one sentence, a case of more than 20
seconds or of more than a gigabyte (for a model file, more than docs/explanation/security.md promises) is a
finding: it is printed with the seed and the number that repeat it, its input is saved to `build/findings`,
and the worker starts again at the next case. The exit code is 1 if there were findings.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import select
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

from structsvm.files.budget import ALLOWANCE, MULTIPLE

# Seconds of a case: of processor time where it can be read, as machines may be busy. Sanitizers slow it down:
# to learn a file of 20,000 sentences takes 11 seconds without them.
LONGEST = 60.0 if os.environ.get("STRUCTSVM_BUILD") == "sanitize" else 20.0
SAVED = Path("build/findings")


def work(target: str, seed: int, start: int, stop: int, folder: Path) -> None:
    """Run cases and report each as a line of JSON."""
    warnings.simplefilter("ignore")
    from tests.fuzz.targets import TARGETS

    def report(**line: object) -> None:
        print(json.dumps(line), file=channel, flush=True)

    channel, sys.stdout = sys.stdout, sys.stderr
    case = TARGETS[target](folder)
    report(ready=True)
    for number in range(start, stop):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        finding = None
        try:
            case(random.Random(f"{target} {seed} {number}"))
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            finding = f"{type(error).__name__}: {str(error)[:300]} ({place.filename}:{place.lineno})"
        added = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        if added > allowed(target, folder / "input"):
            finding = f"{finding or ''} took {added >> 20} MB"
        if finding:
            save(folder, f"{target}-{seed}-{number}")
        report(number=number, finding=finding)


def allowed(target: str, path: Path) -> int:
    """The bytes that a case may add to the worker: for a model, what the page on security promises."""
    if target not in ("models", "foreign"):
        # AddressSanitizer surrounds and keeps freed blocks: 106 MB of small objects become 1.1 GB.
        return (4 if os.environ.get("STRUCTSVM_BUILD") == "sanitize" else 1) << 30
    return ALLOWANCE + MULTIPLE * path.stat().st_size + (16 << 20)  # sentences and a training


def run(target: str, seed: int, seconds: float, cases: int | None, start: int) -> tuple[int, list[str]]:
    """Run a target for so many seconds or cases; return the number of cases and the findings."""
    findings: list[str] = []
    number, end = start, time.monotonic() + seconds
    last = 1 << 40 if cases is None else start + cases
    while number < last and time.monotonic() < end:
        command = [sys.executable, "-m", "tests.fuzz", target, "--seed", str(seed), "--start", str(number)]
        temporary = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        command += ["--cases", str(last - number), "--worker", temporary.name]
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert worker.stdout is not None
        allowed, ready = 300.0, False  # to prepare
        while number < last and time.monotonic() < end:
            heard = answered(worker, allowed)
            line = json.loads(worker.stdout.readline() or "{}") if heard else {}
            allowed = LONGEST
            if line.get("ready"):
                ready = True
                continue
            if not ready:
                raise RuntimeError(f"{target} cannot be prepared: {' '.join(command[1:])}")
            finding = line.get("finding")
            if "number" not in line:
                finding = f"ended by {worker.wait()}" if heard else f"took over {LONGEST:.0f} s"
            if finding:
                findings.append(f"{target} --seed {seed} --start {number} --cases 1: {finding}")
                print(findings[-1], flush=True)
                if "number" not in line:
                    save(Path(temporary.name), f"{target}-{seed}-{number}")
            number += 1
            if "number" not in line or "took" in (finding or ""):
                break
        worker.kill()
        worker.wait()
        temporary.cleanup()
    return number - start, findings


def answered(worker: subprocess.Popen[bytes], allowed: float) -> bool:
    """Wait for a line until the worker has used so much processor time, or ten times as much has passed."""
    begun = used(worker.pid)
    for _ in range(10):
        if select.select([worker.stdout], [], [], allowed)[0]:
            return True
        if used(worker.pid) - begun >= allowed:
            return False
    return False


def used(process: int) -> float:
    """Processor time of a process in seconds; elsewhere than on Linux, the time of day."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return time.monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def save(folder: Path, name: str) -> None:
    """Keep the input of a finding."""
    SAVED.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("input*"):
        with contextlib.suppress(OSError):
            shutil.copy(path, SAVED / f"{name}{path.suffix}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="+")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each target")
    parser.add_argument("--cases", type=int, help="at most so many for each target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="number of the first case")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        stop = options.start + options.cases
        work(options.targets[0], options.seed, options.start, stop, options.worker)
        return
    found = 0
    for target in options.targets:
        done, findings = run(target, options.seed, options.seconds, options.cases, options.start)
        print(f"{target}: {done} cases, {len(findings)} findings", flush=True)
        found += len(findings)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
