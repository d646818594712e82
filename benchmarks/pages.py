"""Fill the tables of README.md and docs/benchmarks from the kept results: `python -m benchmarks pages`.

Between `<!-- table: NAME -->` and `<!-- end -->` the page shows benchmarks/results/NAME.md, or only its table
if it is the report of an experiment. Three kinds of tables are summaries: `readme` of `held-out`,
`peers-TASK` of the last `make bench`, `papers` of `python -m benchmarks reproduce --all`.
"""

from __future__ import annotations

import json
import re
import statistics
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks import held_out
from benchmarks.experiment import experiments
from benchmarks.harness import RESULTS, kept_figures, table
from benchmarks.peers.reporting import machines, tables
from benchmarks.reproduce import difference, kept_rows, markdown, verdict

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs" / "benchmarks").glob("*.md")))
PLACE = re.compile(r"(<!-- table: (?P<name>[\w.-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def peers() -> dict[str, Any]:
    """The record of the last `make bench`."""
    record: dict[str, Any] = json.loads((RESULTS / "peers.json").read_text(encoding="utf-8"))
    return record


def peers_of(task: str) -> str:
    """All programs on one task."""
    entries = [entry for entry in peers()["entries"] if entry["task"] == task]
    versions = {entry["method"].split()[0]: entry["version"] for entry in entries if entry["version"]}
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"{tables(entries)}\n\n{machines(entries)}; {named}"


def papers() -> str:
    """One row for each experiment: its subject and the distance between the paper's numbers and ours."""
    rows = []
    for name, entry in experiments().items():
        path = RESULTS / f"{name}.json"
        if not path.exists():
            rows.append([f"`{name}`", entry.what, "not run", "", "", ""])
            continue
        kept = kept_rows(json.loads(path.read_text(encoding="utf-8")))
        apart = [
            100 * abs(distance / row.paper)
            for row in kept
            if row.paper and (distance := difference(row)) is not None
        ]
        words = Counter(verdict(row, entry.because).split(" because")[0] for row in kept)
        counts = [str(words[word] or "") for word in ("matches", "differs", "no data")]
        link = f"[{name}](../../benchmarks/results/{name}.md)"
        rows.append([link, entry.what, *counts, f"{statistics.median(apart):.1f}%" if apart else ""])
    return table(["experiment", "subject", "matches", "differs", "no data", "median difference"], rows)


def content(name: str) -> str:
    if name == "readme":
        return held_out.readme(kept_figures("held-out"))
    if name.startswith("peers-"):
        return peers_of(name.removeprefix("peers-"))
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
    """A page with the tables of the last measurements."""
    return PLACE.sub(lambda place: f"{place[1]}{content(place['name'])}\n{place[3]}", text)


def report_experiments() -> None:
    """Write the reports of the kept experiments again, with the reasons that are known today."""
    for name, entry in experiments().items():
        path = RESULTS / f"{name}.json"
        if path.exists():
            data = json.loads(path.read_text(encoding="utf-8"))
            path.with_suffix(".md").write_text(markdown(entry, data), encoding="utf-8")


def main() -> None:
    """Fill all pages."""
    report_experiments()
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
