"""`make bench`: all peers on all tasks, how time grows with the corpus, and where ours goes."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import RESULTS, in_own_process, timed
from benchmarks.peers import measuring, reporting
from benchmarks.peers.catalogue import METHODS
from benchmarks.peers.tasks import TASKS, TITLES, prepare

SIZES = [1000, 2000, 4000, 8936]
SCALED = ("structsvm greedy, 1 pass", "structsvm exact, 2 passes", "crfsuite ap", "VW search")


def measure(inference: str, folder: str) -> dict[str, Any]:
    """How the time of training and labelling is spent, in ns per token; called in its own process."""
    from benchmarks.tagging import stages
    from taggers import commands
    from taggers.labels.files import read_labelled
    from taggers.model import TaggerModel

    source, model = Path(folder, "train.txt"), Path(folder, "model")
    template = Path(folder, "template")
    template.write_text(TASKS["chunking"].template, encoding="utf-8")
    settings: dict[str, Any] = {"template": str(template), "cutoff": 3, "C": 0.1, "inference": inference}
    settings["constrained"] = False
    tagger, total = timed(lambda: commands.train("label", source, model, epochs=1, **settings))
    columns, reading = timed(lambda: read_labelled(source).columns)
    learning = tagger.curve_[-1].seconds
    _, saving = timed(lambda: TaggerModel.load(model).save(Path(folder, "again")))
    features = max(total - reading - learning - saving, 0.0)
    parts = {"reading": reading, "features": features, "learning": learning, "writing": saving}
    tokens = len(columns)
    return {
        "training": {name: 1e9 * seconds / tokens for name, seconds in parts.items()},
        "labelling": stages(model, source, folder)["stages"],
    }


def parts_of_our_time() -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for inference in ("greedy", "exact"):
        with tempfile.TemporaryDirectory() as folder:
            prepare("chunking", Path(folder))
            times = in_own_process("benchmarks.peers.bench", {"inference": inference, "folder": folder})
        found |= {f"{kind}, {inference}": times[kind] for kind in ("training", "labelling")}
    return found


def scaling(sizes: list[int]) -> dict[str, list[float]]:
    """Seconds of training on the first sentences of the chunking file."""
    times: dict[str, list[float]] = {}
    for size in sizes:
        for method in METHODS:
            if method.name in SCALED and measuring.obstacle(method) is None:
                found = measuring.once(method, "chunking", size)
                times.setdefault(method.name, []).append(found["train"])
    return times


def main(*, quick: bool = False, tasks: Sequence[str] = ()) -> None:
    """Publish the tables; quick takes few sentences, once, to check that everything works.

    tasks: measure only these again, and keep the last run of the others.
    """
    few: dict[str, Any] = {"repeats": 1, "sentences": 300} if quick else {}
    name = "peers-quick" if quick else "peers"
    record: dict[str, Any] = {"entries": []}
    if tasks:
        record = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    for task in tasks or TITLES:
        found = measuring.collect([task], **few)
        others = [entry for entry in record["entries"] if entry["task"] != task]
        entries = sorted(others + found, key=lambda entry: list(TITLES).index(entry["task"]))
        record["entries"] = entries
        measuring.keep(name, record, history=False)  # the rest takes long: what is measured is safe
        (RESULTS / f"{name}.md").write_text(reporting.markdown(entries) + "\n", encoding="utf-8")
    print(reporting.markdown(entries))
    if quick:
        return
    if not tasks:
        record |= {"sizes": SIZES, "scaling": scaling(SIZES), "parts": parts_of_our_time()}
        reporting.draw_scaling(SIZES, record["scaling"])
        reporting.draw_parts(record["parts"])
    reporting.draw(entries)
    measuring.keep(name, record)
    print(f"kept in {RESULTS}: {name}.md, {name}.json, history.jsonl, peers-*.svg", file=sys.stderr)
