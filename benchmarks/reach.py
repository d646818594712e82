"""The presets with their defaults on many corpora: `python -m benchmarks reach`.

First the settings from which the defaults were chosen are compared on the development data. Then each
preset is trained with its defaults and three seeds, and scored once on the test data. python-crfsuite gets
the features of the preset's template, and the settings of its tutorial (c1 = c2 = 0.1, 100 iterations).
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.harness import cpu_timed, measurements, publish, spread, table

SEEDS = 3
Sentences = tuple[list[list[Any]], list[list[str]]]

# name: task, folder, training, development and test file
SETS: dict[str, tuple[str, str, str, str, str]] = {
    "Spanish": ("ner", "conll2002", "esp.train", "esp.testa", "esp.testb"),
    "Croatian": ("ner", "uner_croatian", "train.iob2", "dev.iob2", "test.iob2"),
    "Danish": ("ner", "uner_danish", "train.iob2", "dev.iob2", "test.iob2"),
    "Portuguese": ("ner", "uner_portuguese", "train.iob2", "dev.iob2", "test.iob2"),
    "BC5CDR": ("ner", "bc5cdr", "train.tsv", "devel.tsv", "test.tsv"),
    "ATIS": ("label", "slots/atis", "train", "valid", "test"),
    "SNIPS": ("label", "slots/snips", "train", "valid", "test"),
}
# what `--dev` compares, for each task
CHOICES: dict[str, dict[str, dict[str, Any]]] = {
    "ner": {
        "greedy, IOB2": {"inference": "greedy", "labels": "IOB2"},
        "greedy, IOBES": {"inference": "greedy", "labels": "IOBES"},
        "exact, IOB2": {"inference": "exact", "labels": "IOB2"},
        "exact, IOBES": {"inference": "exact", "labels": "IOBES"},
    },
    "label": {
        "label": {},
        "IOB2": {"labels": "IOB2", "constrained": True},
        "IOBES": {"labels": "IOBES", "constrained": True},
        "ner, exact, IOB2": {"template": "ner", "labels": "IOB2", "constrained": True},
        "ner, exact, IOBES": {"template": "ner", "labels": "IOBES", "constrained": True},
    },
}


def read(folder: Path, file: str) -> Sentences:
    """The sentences of a file with their labels, in any of the formats of these corpora."""
    if (folder / file).is_dir():
        words, labels = (
            [line.split() for line in (folder / file / name).read_text().splitlines()]
            for name in ("seq.in", "seq.out")
        )
        return words, labels
    X: list[list[Any]] = [[]]
    y: list[list[str]] = [[]]
    for line in (folder / file).read_text().splitlines():
        fields = line.split("\t") if "\t" in line else line.split()
        if not fields:
            X.append([])
            y.append([])
        elif not line.startswith("# "):
            fields = fields[1:3] if file.endswith(".iob2") else fields
            X[-1].append(fields[0] if len(fields) == 2 else tuple(fields[:-1]))
            y[-1].append(fields[-1])
    kept = [k for k, tokens in enumerate(X) if tokens]
    return [X[k] for k in kept], [y[k] for k in kept]


def load(name: str, *wanted: str) -> list[Sentences]:
    from corpora import find

    _, folder, *files = SETS[name]
    top, _, below = folder.partition("/")
    names = dict(zip(("train", "dev", "test"), files, strict=True))
    return [read(find(top) / below, names[part]) for part in wanted]


def measure(
    name: str, seed: int, part: str, options: dict[str, Any], crfsuite: bool = False
) -> dict[str, Any]:
    """Train a preset or python-crfsuite, and score it on the development or test data."""
    from taggers.metrics import span_f1
    from taggers.tagger import TASKS

    train, held_out = load(name, "train", part)
    tagger = CrfSuite(SETS[name][0]) if crfsuite else TASKS[SETS[name][0]](random_state=seed, **options)
    _, seconds = cpu_timed(lambda: tagger.fit(*train))
    found, tagging = cpu_timed(lambda: tagger.predict(held_out[0]))
    tokens = sum(map(len, found))
    return {"score": 100 * span_f1(held_out[1], found), "train": seconds, "tokens_per_s": tokens / tagging}


class CrfSuite:
    """python-crfsuite with the features of a preset's template, and the settings of its tutorial."""

    def __init__(self, task: str) -> None:
        self.task = task

    def fit(self, X: list[list[Any]], y: list[list[str]]) -> None:
        import pycrfsuite

        from benchmarks.peers.tasks import Items
        from taggers.features.template import fitting_template
        from taggers.options import OPTIONS

        template = next(option for option in OPTIONS if option.name == "template").value(self.task)
        width = 1 if isinstance(X[0][0], str) else len(X[0][0])
        self.items = Items(fitting_template(template, width).text)
        trainer = pycrfsuite.Trainer(verbose=False)
        for tokens, labels in zip(X, y, strict=True):
            trainer.append(self._items(tokens), labels)
        trainer.set_params({"c1": 0.1, "c2": 0.1, "max_iterations": 100})
        self.tagger = pycrfsuite.Tagger()
        with tempfile.TemporaryDirectory() as folder:
            trainer.train(f"{folder}/model")
            self.tagger.open(f"{folder}/model")

    def predict(self, X: list[list[Any]]) -> list[list[str]]:
        return [self.tagger.tag(self._items(tokens)) for tokens in X]

    def _items(self, tokens: list[Any]) -> Any:
        return self.items([[token] if isinstance(token, str) else list(token) for token in tokens])


def compare(task: str) -> None:
    """The settings of a task on the development data of its corpora, one seed."""
    names = [name for name in SETS if SETS[name][0] == task]
    rows, raw = [], {}
    for setting, options in CHOICES[task].items():
        jobs = [{"name": name, "seed": 0, "part": "dev", "options": options} for name in names]
        raw[setting] = measurements("benchmarks.reach", jobs)
        scores = [run["score"] for run in raw[setting]]
        seconds = sum(run["train"] for run in raw[setting])
        shown = [f"{score:.2f}" for score in [*scores, statistics.mean(scores)]]
        rows.append([setting, *shown, f"{seconds:.0f}"])
    publish(f"reach-dev-{task}", table(["settings", *names, "mean", "training, CPU s"], rows), raw)


def main(*, quick: bool = False) -> None:
    for task in CHOICES:
        if not quick:
            compare(task)
    seeds = 1 if quick else SEEDS
    rows, raw = [], {}
    for name, (task, *_) in SETS.items():
        job = {"name": name, "seed": 0, "part": "test", "options": {}}
        ours = measurements("benchmarks.reach", [{**job, "seed": seed} for seed in range(seeds)])
        (crf,) = measurements("benchmarks.reach", [{**job, "crfsuite": True}])
        raw[name] = {"structsvm": ours, "python-crfsuite": crf}
        figures = [f"{statistics.median(run[key] for run in ours):,.0f}" for key in ("train", "peak_mb")]
        rows.append(
            [name, task, spread(ours, "score", 2), f"{crf['score']:.2f}", figures[0], f"{crf['train']:.0f}",
             figures[1], f"{crf['peak_mb']:,.0f}"]
        )  # fmt: skip
    header = ["corpus", "preset and template", f"F1, {seeds} seeds", "python-crfsuite", "training, CPU s",
              "python-crfsuite", "peak MB", "python-crfsuite"]  # fmt: skip
    publish("reach-quick" if quick else "reach", table(header, rows), raw)
