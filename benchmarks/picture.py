"""Draw the picture of the README, docs/img/pareto.svg: `python -m benchmarks picture`.

Each panel shows the scores of one task in `results/peers.json` against training time, with the Pareto front:
the programs that no other one beats in both. The SVG is written directly, so that it needs no plotting
library and does not depend on the fonts of the machine.
"""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from benchmarks.harness import RESULTS
from benchmarks.peers.measuring import median
from benchmarks.peers.reporting import pareto
from benchmarks.peers.tasks import TASKS, TITLES

PICTURE = Path(__file__).parents[1] / "docs" / "img" / "pareto.svg"
PANELS = ("chunking", "pos")
WIDTH, HEIGHT = 450, 330  # of a panel
LEFT, RIGHT, TOP, BOTTOM = 56, 14, 34, 44  # its margins
SIZE, LETTER, BOLD = 11, 6.2, 7.0  # of a label: font size, mean width of a letter, of a bold one
OURS, THEIRS, INK = "#c2410c", "#64748b", "#1e293b"
TICKS = (1, 2, 5, 10, 20, 50, 100, 200)

Box = tuple[float, float, float, float]


def overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def place(x: float, y: float, width: float, taken: list[Box]) -> tuple[float, float]:
    """Where a label starts: the first of a few places around its point that overlaps nothing."""
    for dy in (4, -9, 17, -22, 30, -35, 43, -48):
        for dx in (9, -9 - width, -width / 2):
            box = (x + dx, y + dy - SIZE, x + dx + width, y + dy + 2)
            inside = box[0] > LEFT and box[2] < WIDTH - 2 and box[1] > TOP and box[3] < HEIGHT - BOTTOM
            if inside and not any(overlap(box, other) for other in taken):
                taken.append(box)
                return x + dx, y + dy
    taken.append((x + 9, y + 4 - SIZE, x + 9 + width, y + 6))
    return x + 9, y + 4


def along(line: list[tuple[float, float]], pieces: int = 20) -> list[tuple[float, float]]:
    """Points on a line, close enough that no label fits between two, but none next to its corners."""
    return [
        (a + k / pieces * (c - a), b + k / pieces * (d - b))
        for (a, b), (c, d) in pairwise(line)
        for k in range(3, pieces - 2)
    ]


def text(
    x: float, y: float, content: str, *, anchor: str = "start", colour: str = INK, more: str = ""
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"{more}>{escape(content)}</text>'
    )


def panel(entries: list[dict[str, Any]], task: str) -> list[str]:
    """The elements of one plot, its origin at the top left."""
    points = {
        entry["method"].partition(",")[0]: (median(entry, "train"), median(entry, "score"))
        for entry in entries
        if entry["task"] == task and entry["runs"]
    }
    seconds, scores = zip(*points.values(), strict=True)
    low, high = math.log(min(seconds) / 1.3), math.log(max(seconds) * 1.5)
    bottom, top = min(scores) - 0.12, max(scores) + 0.12

    def at(point: tuple[float, float]) -> tuple[float, float]:
        across = (math.log(point[0]) - low) / (high - low)
        up = (point[1] - bottom) / (top - bottom)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    measure = TASKS[task].measure
    drawn = [text(LEFT, 20, f"{TITLES[task]} ({measure})", more=' font-weight="600" font-size="13"')]
    for tick in TICKS:
        if low < math.log(tick) < high:
            x, y = at((tick, bottom))
            drawn.append(f'<path d="M{x:.1f} {TOP}V{y:.1f}" stroke="#e2e8f0"/>')
            drawn.append(text(x, y + 15, str(tick), anchor="middle"))
    step = 0.25 if top - bottom < 1.5 else 0.5
    for k in range(math.ceil(bottom / step), math.floor(top / step) + 1):
        x, y = at((1, k * step))
        drawn.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#e2e8f0"/>')
        drawn.append(text(LEFT - 6, y + 4, f"{k * step:.2f}", anchor="end"))
    drawn.append(
        text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, "training, CPU seconds (log scale)", anchor="middle")
    )
    front = [at(point) for point in pareto(list(points.values()))]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in front)
    drawn.append(f'<polyline points="{line}" fill="none" stroke="{OURS}" stroke-dasharray="4 3"/>')
    places = {name: at(point) for name, point in points.items()}
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in [*places.values(), *along(front)]]
    for name, (x, y) in places.items():
        ours = name.startswith("structsvm")
        colour = OURS if ours else THEIRS
        drawn.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{5 if ours else 4}" fill="{colour}"/>')
        label_x, label_y = place(x, y, len(name) * (BOLD if ours else LETTER), taken)
        drawn.append(text(label_x, label_y, name, colour=colour, more=' font-weight="600"' if ours else ""))
    return drawn


def picture(entries: list[dict[str, Any]]) -> str:
    """The SVG of all panels side by side."""
    width = WIDTH * len(PANELS)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" font-size="{SIZE}" '
        'font-family="system-ui, sans-serif" role="img">',
        "<title>Score against training time of structsvm and other taggers</title>",
        f'<rect width="{width}" height="{HEIGHT}" rx="8" fill="white"/>',
    ]
    for number, task in enumerate(PANELS):
        lines += [f'<g transform="translate({number * WIDTH} 0)">', *panel(entries, task), "</g>"]
    return "\n".join([*lines, "</svg>", ""])


def main() -> None:
    """Write the picture from the last `make bench`."""
    record = json.loads((RESULTS / "peers.json").read_text(encoding="utf-8"))
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(picture(record["entries"]), encoding="utf-8")
