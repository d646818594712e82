"""Put what was measured into README.md and docs/benchmarks.md: `python -m benchmarks pages`.

Between `<!-- table: NAME -->` and `<!-- end -->` stands benchmarks/results/NAME.md as it was written, or the
table alone where it is the report of an experiment; two names are summaries: `peers-short` of the last `make
bench`, and `papers` of `structsvm reproduce --all`.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from pathlib import Path
from typing import Any

from benchmarks.harness import RESULTS, table
from benchmarks.peers.measuring import median
from benchmarks.peers.reporting import of_task
from benchmarks.peers.tasks import TASKS, TITLES

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "benchmarks.md")
PLACE = re.compile(r"(<!-- table: (?P<name>[\w.-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def peers_short() -> str:
    """One table of all tasks: score, training, rate, memory, size."""
    record = json.loads((RESULTS / "peers.json").read_text(encoding="utf-8"))
    rows = []
    for task in dict.fromkeys(entry["task"] for entry in record["entries"]):
        for entry in of_task(record["entries"], task):
            if entry["runs"]:
                rows.append(short_row(task, entry))
    header = ["task", "program", "score", "training, s", "labelling, a second", "peak MB", "model MB"]
    return f"{table(header, rows)}\n\n{record['machine']}"


def short_row(task: str, entry: dict[str, Any]) -> list[str]:
    measure = TASKS[task].measure if task in TASKS else "accuracy"
    ours = entry["method"].startswith("structsvm")
    name = f"**{entry['method']}**" if ours else f"{entry['method']} {entry['version']}"
    return [
        TITLES[task], name, f"{measure} {median(entry, 'score'):.2f}", f"{median(entry, 'train'):.1f}",
        f"{median(entry, 'rate'):,.0f}", f"{median(entry, 'peak_mb'):.0f}",
        f"{median(entry, 'model_mb'):.1f}",
    ]  # fmt: skip


def papers() -> str:
    """A line for each experiment: what it is, and how far apart the papers' numbers and ours are."""
    from benchmarks.experiment import experiments

    rows = []
    for name, entry in experiments().items():
        path = RESULTS / f"{name}.json"
        if not path.exists():
            rows.append([f"`{name}`", entry.what, "not run", "", ""])
            continue
        compared = [row for row in json.loads(path.read_text(encoding="utf-8"))["rows"] if row["paper"]]
        apart = [
            100 * abs(row["difference"] / row["paper"]) for row in compared if row["difference"] is not None
        ]
        middle = f"{statistics.median(apart):.1f}%" if apart else "curves"
        link = f"[{name}](../benchmarks/results/{name}.md)"
        rows.append([link, entry.what, str(len(apart) or ""), middle, f"{max(apart):.1f}%" if apart else ""])
    return table(["experiment", "what", "numbers", "apart: median", "apart: most"], rows)


def content(name: str) -> str:
    if name == "peers-short":
        return peers_short()
    if name == "papers":
        return papers()
    path = RESULTS / f"{name}.md"
    if not path.exists():
        return "Not measured yet."
    text = path.read_text(encoding="utf-8").strip()
    if not text.startswith("# "):
        return text
    return "\n".join(line for line in text.splitlines() if line.startswith("|"))


def filled(text: str) -> str:
    """A page with its tables as they were measured last."""
    return PLACE.sub(lambda place: f"{place[1]}{content(place['name'])}\n{place[3]}", text)


def main(*, quick: bool = False) -> None:
    """Fill both pages; where they are not, as in an installed package, there is nothing to do."""
    for page in PAGES:
        if not page.exists():
            sys.exit(f"{page} is not there: pages are filled in a checkout")
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
