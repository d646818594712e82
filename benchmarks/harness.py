"""Helpers shared by all benchmarks: one process per measurement, the machine's name, tables and JSON."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
# One core each: libsvm and liblinear have no threads, so our matrix products get none either.
ONE_CORE = {name: "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")}


# Where our packages are; -P keeps a folder of the same name, where we happen to be, out of the way.
PACKAGES = str(Path(__file__).parents[1])


def in_own_process(module: str, job: dict[str, Any], packages: Sequence[str] = ()) -> dict[str, Any]:
    """Run `module.measure(**job)` in a fresh interpreter on one core; its figures and peak memory.

    packages: folders whose packages come before all others.
    """
    code = f"from benchmarks.harness import child; import {module} as m; child(m.measure)"
    path = os.pathsep.join(filter(None, [*packages, PACKAGES, os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        env={**os.environ, **ONE_CORE, "PYTHONPATH": path},
    )
    if done.returncode in (-signal.SIGINT, 130):
        raise KeyboardInterrupt
    if done.returncode:
        raise RuntimeError(f"{job} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


_measured: dict[str, dict[str, Any]] = {}
_kept: Path | None = None


def keep_measurements(path: Path, *, resume: bool) -> None:
    """Save each measurement immediately, so that an interrupted run can be resumed."""
    global _kept
    _kept = path
    if not resume:
        path.unlink(missing_ok=True)
    elif path.exists():
        # The last line may be half a line, of a run that was killed.
        lines = path.read_text(encoding="utf-8").splitlines()
        _measured.update(json.loads(line) for line in lines if line.endswith("]"))


def drop_measurements() -> None:
    if _kept is not None:
        _kept.unlink(missing_ok=True)


def measurements(module: str, jobs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """`in_own_process` for each job, with progress on a terminal; what was measured before is not again."""
    found = []
    shown = sys.stderr.isatty()
    for number, job in enumerate(jobs, 1):
        key = json.dumps([module, job], sort_keys=True)
        if key not in _measured:
            if shown:
                told = ", ".join(f"{name} {value}" for name, value in job.items())
                print(f"\r\033[K{number} of {len(jobs)}: {told}"[:120], end="", file=sys.stderr, flush=True)
            _measured[key] = in_own_process(module, job)
            if _kept is not None:
                with _kept.open("a", encoding="utf-8") as file:
                    print(json.dumps([key, _measured[key]]), file=file)
        found.append(_measured[key])
    if shown:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    return found


def child(measure: Callable[..., dict[str, Any]]) -> None:
    figures = measure(**json.load(sys.stdin))
    figures["peak_mb"] = peak_memory()
    print(json.dumps(figures))


def peak_memory() -> float:
    """The most memory this process has had, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage would count what the process that started this one had, if that was more
        kilobytes = re.search(r"VmHWM:\s*(\d+) kB", status.read_text())
        if kilobytes:
            return int(kilobytes[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def cpu_timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Seconds of one core: what others do on the machine disturbs them less than those of the clock."""
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def machine() -> str:
    """The machine and the versions that a table was made with."""
    cpu = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        names = [
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ]
        cpu = names[0] if names else cpu
    packages = []
    for name in ("structsvm-nlp", "numpy", "scipy", "scikit-learn"):
        try:
            packages.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            packages.append(f"{name} missing")
    python = platform.python_version()
    return f"{date.today()}, {cpu}, {os.cpu_count()} cores, Python {python}, {', '.join(packages)}"


def table(header: list[str], rows: list[list[Any]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *[[str(cell) for cell in row] for row in rows]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def mean_spread(values: list[float], digits: int = 2) -> str:
    """Mean and standard deviation, of several values."""
    mean = f"{statistics.mean(values):.{digits}f}"
    return f"{mean} ± {statistics.stdev(values):.{digits}f}" if len(set(values)) > 1 else mean


def beside(ours: str, paper: float | None) -> str:
    return ours if paper is None else f"{ours} ({paper:g})"


def spread(runs: list[dict[str, Any]], key: str, digits: int, unit: float = 1.0) -> str:
    """Mean and standard deviation over seeds."""
    values = [run[key] / unit for run in runs if key in run]
    if not values:
        return ""
    return mean_spread(values, digits)


@contextlib.contextmanager
def figure(name: str, x: str, y: str, *, log: bool = False, folder: Path = RESULTS) -> Iterator[Any]:
    """Give axes to draw on, and save the drawing as an SVG."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = name
    from matplotlib import pyplot

    drawing, axes = pyplot.subplots(figsize=(5, 3.4), layout="constrained")
    yield axes
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if log:
        axes.set_xscale("log")
        axes.set_yscale("log")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    folder.mkdir(exist_ok=True)
    drawing.savefig(folder / f"{name}.svg", metadata={"Date": None})
    pyplot.close(drawing)


def publish(name: str, text: str, figures: Any) -> None:
    """Print a report, and keep it as Markdown and JSON."""
    RESULTS.mkdir(exist_ok=True)
    text = f"{text}\n\n{machine()}\n"
    print(text)
    (RESULTS / f"{name}.md").write_text(text)
    (RESULTS / f"{name}.json").write_text(
        json.dumps({"machine": machine(), "figures": figures}, indent=1) + "\n"
    )


def kept_figures(name: str) -> Any:
    """The figures that `publish` saved under this name; an empty list if there are no such results yet."""
    path = RESULTS / f"{name}.json"
    if not path.exists():
        return []
    return json.loads(path.read_text(encoding="utf-8"))["figures"]
