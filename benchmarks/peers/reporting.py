"""Tables and plots of the peers."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from benchmarks.harness import RESULTS, figure, table
from benchmarks.peers.measuring import median
from benchmarks.peers.tasks import TASKS, TITLES

HEADER = [
    "training, s", "time / ours", "peak MB", "labelled per second", "model MB", "loading, ms", "template",
    "runs",
]  # fmt: skip


def spread(entry: dict[str, Any], key: str, digits: int) -> str:
    """Median, and how far the runs are apart."""
    values = [run[key] for run in entry["runs"]]
    middle = f"{statistics.median(values):,.{digits}f}"
    if len(values) == 1:
        return middle
    return f"{middle} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def of_task(entries: list[dict[str, Any]], task: str) -> list[dict[str, Any]]:
    """Those that were measured, the best score first, then those that were not."""
    found = [entry for entry in entries if entry["task"] == task]
    measured = [entry for entry in found if entry["runs"]]
    return sorted(measured, key=lambda entry: -median(entry, "score")) + [e for e in found if not e["runs"]]


def markdown(entries: list[dict[str, Any]]) -> str:
    """A table for each task, and how to read it."""
    return f"{tables(entries)}\n\n{legend(entries)}"


def tables(entries: list[dict[str, Any]]) -> str:
    """A table for each task."""
    parts = []
    for task in dict.fromkeys(entry["task"] for entry in entries):
        what = TASKS[task].measure if task in TASKS else "accuracy"
        found = of_task(entries, task)
        ours = [entry for entry in found if entry["method"].startswith("structsvm") and entry["runs"]]
        fastest = min((median(entry, "train") for entry in ours), default=float("nan"))
        rows = [cells(entry, fastest) for entry in found]
        parts.append(table([TITLES[task], what, *HEADER], rows))
    return "\n\n".join(parts)


def cells(entry: dict[str, Any], fastest: float) -> list[str]:
    name = f"**{entry['method']}**" if entry["method"].startswith("structsvm") else entry["method"]
    if not entry["runs"]:
        return [name, entry["failed"], *[""] * (len(HEADER) - 1), "0"]
    return [
        name, f"{median(entry, 'score'):.2f}", spread(entry, "train", 2),
        f"{median(entry, 'train') / fastest:.1f}", f"{median(entry, 'peak_mb'):.0f}",
        f"{median(entry, 'rate'):,.0f}", f"{median(entry, 'model_mb'):.1f}",
        f"{1000 * median(entry, 'load'):.1f}", entry["template"], str(len(entry["runs"])),
    ]  # fmt: skip


def machines(entries: list[dict[str, Any]]) -> str:
    """The machine and date of the measurements; if they differ between tasks, preceded by the tasks."""
    tasks: dict[str, dict[str, None]] = {}
    for entry in entries:
        tasks.setdefault(entry["machine"], {})[entry["task"]] = None
    if len(tasks) == 1:
        return entries[0]["machine"]
    return "; ".join(f"{', '.join(names)}: {name}" for name, names in tasks.items())


def legend(entries: list[dict[str, Any]]) -> str:
    versions = {e["method"].split()[0]: e["version"] for e in entries if e["version"]}
    told = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (
        "Training: from file to saved model. Labelling: tokens (or rows) per second from file to file, "
        "including loading. Seconds are CPU seconds, which other work on the machine disturbs less than "
        "wall-clock time. Figures are medians, with minimum and maximum in brackets. Each program runs in "
        "its own process, in turn, on one core; starting Python and imports are not timed. All use the same "
        "template; for programs that take strings, Python makes the features, as is usual for them.\n\n"
        f"{machines(entries)}; {told}"
    )


def pareto(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """
    >>> pareto([(1, 90), (2, 89), (3, 95)])
    [(1, 90), (3, 95)]
    """
    front: list[tuple[float, float]] = []
    for x, y in sorted(points, key=lambda point: (point[0], -point[1])):
        if not front or y > front[-1][1]:
            front.append((x, y))
    return front


def draw(entries: list[dict[str, Any]], folder: Path = RESULTS) -> None:
    """For each task, scores against training time, with the front that nothing beats in both."""
    for task in dict.fromkeys(entry["task"] for entry in entries):
        found = [entry for entry in of_task(entries, task) if entry["runs"]]
        with figure(f"peers-{task}", "training, s (file to model)", "score, %", folder=folder) as axes:
            for entry in found:
                x, y = median(entry, "train"), median(entry, "score")
                marker = "*" if entry["method"].startswith("structsvm") else "o"
                axes.plot(x, y, marker, markersize=9 if marker == "*" else 5, label=entry["method"])
            front = pareto([(median(entry, "train"), median(entry, "score")) for entry in found])
            axes.plot(*zip(*front, strict=True), ":", color="grey", label="Pareto front", zorder=0)
            axes.set_xscale("log")
            axes.set_title(TITLES[task], fontsize="medium")
            axes.legend(frameon=False, fontsize="x-small")


def draw_scaling(sizes: list[int], times: dict[str, list[float]], folder: Path = RESULTS) -> None:
    with figure("peers-scaling", "sentences of CoNLL-2000", "training, s", log=True, folder=folder) as axes:
        for name, seconds in times.items():
            axes.plot(sizes[: len(seconds)], seconds, "o-", label=name)


def draw_parts(parts: dict[str, dict[str, float]], folder: Path = RESULTS) -> None:
    """Bars: where our time goes, in ns a token."""
    with figure("peers-parts", "ns a token", "", folder=folder) as axes:
        names = list(dict.fromkeys(part for found in parts.values() for part in found))
        left = [0.0] * len(parts)
        for name in names:
            widths = [found.get(name, 0.0) for found in parts.values()]
            axes.barh(list(parts), widths, left=left, label=name)
            left = [a + b for a, b in zip(left, widths, strict=True)]
        axes.legend(frameon=False, fontsize="x-small")
