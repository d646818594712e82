"""The presets with their defaults on many corpora: `python -m benchmarks reach`.

First the settings from which the defaults were chosen are compared on the development data. Then each
preset is trained with its defaults and three seeds, and scored once on the test data. python-crfsuite is
trained with the features of the preset's template, and with the features that its users usually start with.
Its c1 and c2 are chosen on the development data.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness import cpu_timed, measurements, publish, spread, table

SEEDS = 3
GRID = [(0.1, 0.1), (1.0, 1e-3), (0.0, 1.0), (0.05, 0.01)]  # c1 and c2: from tutorials, and the defaults
COMPARED = [("calibration", 2), ("train", 0), ("peak_mb", 0)]
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
    name: str, seed: int, parts: list[str], options: dict[str, Any], crfsuite: bool = False
) -> dict[str, Any]:
    """Train a preset or python-crfsuite, and score it on the development data, the test data, or both.

    With both, also return the expected calibration error on the test data. Our probabilities are calibrated
    on the development data.
    """
    from taggers.metrics import calibration_error, span_f1
    from taggers.tagger import TASKS

    train, *held_out = load(name, "train", *parts)
    task = SETS[name][0]
    tagger = CrfSuite(task, **options) if crfsuite else TASKS[task](random_state=seed, **options)
    _, seconds = cpu_timed(lambda: tagger.fit(*train))
    figures = {"train": seconds}
    for part, (X, y) in zip(parts, held_out, strict=True):
        found, tagging = cpu_timed(partial(tagger.predict, X))
        figures |= {part: 100 * span_f1(y, found), "tokens_per_s": sum(map(len, found)) / tagging}
    if len(parts) == 2:
        (X, y), test = held_out
        tagger.calibrate(X, y)
        figures["calibration"] = 100 * calibration_error(test[1], tagger.predict_marginals(test[0]))
    return figures


def usual_items(tokens: list[Any]) -> list[list[str]]:
    """The features that users of python-crfsuite usually start with: of the word and its two neighbours."""
    rows = [(token,) if isinstance(token, str) else token for token in tokens]
    result = []
    for at, (word, *tags) in enumerate(rows):
        items = ["bias", f"-3={word[-3:]}", f"-2={word[-2:]}", f"digit={word.isdigit()}"]
        items += _about("", word, tags)
        for name, other in (("-1:", at - 1), ("+1:", at + 1)):
            inside = 0 <= other < len(rows)
            items += _about(name, rows[other][0], rows[other][1:]) if inside else [f"{name}edge"]
        result.append(items)
    return result


def _about(name: str, word: str, tags: Sequence[str]) -> list[str]:
    items = [f"{name}lower={word.lower()}", f"{name}upper={word.isupper()}", f"{name}title={word.istitle()}"]
    return items + [f"{name}tag={part}" for tag in tags[:1] for part in (tag, f"{tag[:2]}*")]


class CrfSuite:
    """python-crfsuite with the features of a preset's template, or with those that its users start with."""

    def __init__(self, task: str, *, features: str, c1: float, c2: float) -> None:
        self.task, self.features = task, features
        self.parameters = {"c1": c1, "c2": c2, "max_iterations": 100}

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
        trainer.set_params(self.parameters)
        self.tagger = pycrfsuite.Tagger()
        with tempfile.TemporaryDirectory() as folder:
            trainer.train(f"{folder}/model")
            self.tagger.open(f"{folder}/model")

    def predict(self, X: list[list[Any]]) -> list[list[str]]:
        return [self.tagger.tag(self._items(tokens)) for tokens in X]

    def calibrate(self, X: Any, y: Any) -> None:
        """Do nothing: a CRF is trained to predict probabilities."""

    def predict_marginals(self, X: list[list[Any]]) -> list[list[dict[str, float]]]:
        return [self._marginals(tokens) for tokens in X]

    def _marginals(self, tokens: list[Any]) -> list[dict[str, float]]:
        self.tagger.set(self._items(tokens))
        labels = self.tagger.labels()
        return [{label: self.tagger.marginal(label, t) for label in labels} for t in range(len(tokens))]

    def _items(self, tokens: list[Any]) -> Any:
        if self.features == "usual":
            return usual_items(tokens)
        return self.items([[token] if isinstance(token, str) else list(token) for token in tokens])


def compare(task: str) -> None:
    """The settings of a task on the development data of its corpora, one seed."""
    names = [name for name in SETS if SETS[name][0] == task]
    rows, raw = [], {}
    for setting, options in CHOICES[task].items():
        jobs = [{"name": name, "seed": 0, "parts": ["dev"], "options": options} for name in names]
        raw[setting] = measurements("benchmarks.reach", jobs)
        scores = [run["dev"] for run in raw[setting]]
        seconds = sum(run["train"] for run in raw[setting])
        shown = [f"{score:.2f}" for score in [*scores, statistics.mean(scores)]]
        rows.append([setting, *shown, f"{seconds:.0f}"])
    publish(f"reach-dev-{task}", table(["settings", *names, "mean", "training, CPU s"], rows), raw)


def best_crfsuite(name: str, features: str, grid: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """The run of python-crfsuite with the best c1 and c2 on the development data."""
    jobs: list[dict[str, Any]] = [
        {"name": name, "seed": 0, "parts": ["dev", "test"], "crfsuite": True,
         "options": {"features": features, "c1": c1, "c2": c2}}
        for c1, c2 in grid
    ]  # fmt: skip
    runs = measurements("benchmarks.reach", jobs)
    best = max(range(len(jobs)), key=lambda k: runs[k]["dev"])
    return runs[best] | jobs[best]["options"]


def main(*, quick: bool = False) -> None:
    for task in CHOICES:
        if not quick:
            compare(task)
    seeds, grid = (1, GRID[:1]) if quick else (SEEDS, GRID)
    rows, raw = [], {}
    for name, (task, *_) in SETS.items():
        job = {"name": name, "parts": ["dev", "test"], "options": {}}
        ours = measurements("benchmarks.reach", [{**job, "seed": seed} for seed in range(seeds)])
        same, usual = (best_crfsuite(name, features, grid) for features in ("preset", "usual"))
        raw[name] = {"structsvm": ours, "python-crfsuite": [same, usual]}
        medians = {key: statistics.median(run[key] for run in ours) for key in ours[0]}
        scores = [f"{run['test']:.2f}" for run in (same, usual)]
        others = [f"{run[key]:,.{digits}f}" for key, digits in COMPARED for run in (medians, same)]
        rows.append([name, task, spread(ours, "test", 2), *scores, *others])
    header = ["corpus", "preset and template", f"F1, {seeds} seeds", "CRFsuite, same template",
              "CRFsuite, usual features"]  # fmt: skip
    header += [part for what in ("calibration error, %", "training, CPU s", "peak MB")
               for part in (what, "CRFsuite, same template")]  # fmt: skip
    publish("reach-quick" if quick else "reach", table(header, rows), raw)
