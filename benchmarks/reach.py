"""The presets with their defaults on many corpora: `python -m benchmarks reach`.

First the settings from which the defaults were chosen are compared on the development data. Then each
preset is trained with its defaults and three seeds, and scored once on the test data. ner is also trained
with the other settings that `train --dev` compares; the development data choose between the two. We train
python-crfsuite with the features of the preset's template, and with the features that its users usually start
with, and choose its c1 and c2 on the development data. The last table shows presets with knowledge from
outside the labelled file.

`--resume` continues an interrupted run. Knowledge needs the packages of the extra `knowledge`.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness import cpu_timed, kept_figures, measurements, publish, spread, table

SEEDS = 3
FILES = Path(tempfile.gettempdir(), "structsvm-reach")
ITERATIONS = 100  # of CRFsuite, at most
# c1 and c2: the defaults of CRFsuite, and the values in the tutorials of sklearn-crfsuite and python-crfsuite
GRID = [(0.0, 1.0), (0.1, 0.1), (1.0, 1e-3)]
COMPARED = [("calibration", 2), ("train", 0), ("peak_mb", 0)]
Sentences = tuple[list[list[Any]], list[list[str]]]

# name: task, folder, training, development and test file; chunking has no development file, so tenths of its
# training file are held out instead
SETS: dict[str, tuple[str, str, str, str, str]] = {
    "Spanish": ("ner", "conll2002", "esp.train", "esp.testa", "esp.testb"),
    "Croatian": ("ner", "uner_croatian", "train.iob2", "dev.iob2", "test.iob2"),
    "Danish": ("ner", "uner_danish", "train.iob2", "dev.iob2", "test.iob2"),
    "Portuguese": ("ner", "uner_portuguese", "train.iob2", "dev.iob2", "test.iob2"),
    "BC5CDR": ("ner", "bc5cdr", "train.tsv", "devel.tsv", "test.tsv"),
    "tweets": ("ner", "btc", "train.txt", "dev.txt", "test.txt"),
    "ATIS": ("label", "slots/atis", "train", "valid", "test"),
    "SNIPS": ("label", "slots/snips", "train", "valid", "test"),
    "CoNLL-2000": ("chunk", "conll2000", "train.txt", "", "test.txt"),
    "EWT": ("pos", "ud_english_ewt", "train.conllu", "dev.conllu", "test.conllu"),
    "Sequoia": ("pos", "ud_french_sequoia", "train.conllu", "dev.conllu", "test.conllu"),
    "Greek": ("pos", "ud_greek", "train.conllu", "dev.conllu", "test.conllu"),
    "Afrikaans": ("pos", "ud_afrikaans", "train.conllu", "dev.conllu", "test.conllu"),
}
TENTHS = {"second tenth": 1, "fifth tenth": 4, "eighth tenth": 7}
SETS |= {name: ("chunk", "conll2000", "train.txt", "train.txt", "") for name in TENTHS}
COMPARED_WITH_CRFSUITE = list(SETS)[:8]
GREEDY = {"inference": "greedy", "labels": "IOB2"}
NARROW = """w[-2..2], w[-1]|w[0], w[0]|w[1], lower[0], prefix2[0], prefix3[0], suffix2[0], suffix3[0],
    shape[0], has_digit[0], bias"""
ENGLISH = "classes of raw_english"  # stands for those of `structsvm classes`
RAW, SPACY = {"raw": ENGLISH}, {"brown": "spacy:en"}
SUFFIXES = """pos + lower_suffix2[-1]|lower_suffix2[0], lower_suffix2[0]|lower_suffix2[1],
    lower_suffix3[-1]|lower_suffix3[0], lower_suffix3[0]|lower_suffix3[1]"""
# the settings from which the defaults of a task were chosen, on the development data
CHOICES: dict[str, dict[str, dict[str, Any]]] = {
    "ner": {
        "exact, IOBES (default)": {},
        "exact, IOB2": {"labels": "IOB2"},
        "greedy, IOBES": {"inference": "greedy"},
        "greedy, IOB2": GREEDY,
    },
    "label": {
        "default": {},
        "two words on each side, fewer affixes": {"template": NARROW},
        "the template ner": {"template": "ner"},
        "the template ner, IOBES": {"template": "ner", "labels": "IOBES", "constrained": True},
    },
    "pos": {
        "default": {},
        "4 passes": {"epochs": 4},
        "pairs of suffixes": {"template": SUFFIXES},
        "greedy": {"inference": "greedy"},
    },
    "chunk": {
        "default": {},
        "4 passes": {"epochs": 4},
        "words with two parts of speech": {
            "template": "chunk + w[0]|p[0]|p[1], w[0]|p[-1]|p[0], w[0]|p[-1]|p[1]"
        },
        "classes of raw_english": {"classes": RAW},
        "spacy:en": {"classes": SPACY},
    },
}
DOCUMENT = {"template": "ner + doc_form[-1..1] + doc_label[0]"}
# Rows of the last table: corpus, options. The development data choose among the rows of a corpus.
KNOWLEDGE: dict[str, tuple[str, dict[str, Any]]] = {
    "Spanish, nothing": ("Spanish", {}),
    "Spanish, es": ("Spanish", {"knowledge": "es"}),
    "Spanish, es, the document": ("Spanish", DOCUMENT | {"knowledge": "es"}),
    "tweets, nothing": ("tweets", {}),
    "tweets, en": ("tweets", {"knowledge": "en"}),
    "Danish, nothing": ("Danish", {}),
    "Danish, da": ("Danish", {"knowledge": "da"}),
    "Danish, the document": ("Danish", DOCUMENT),
    "Croatian, nothing": ("Croatian", {}),
    "Croatian, the document": ("Croatian", DOCUMENT),
    "Portuguese, nothing": ("Portuguese", {}),
    "Portuguese, the document": ("Portuguese", DOCUMENT),
    "CoNLL-2000, nothing": ("CoNLL-2000", {}),
    "CoNLL-2000, raw_english": ("CoNLL-2000", {"classes": RAW}),
    "CoNLL-2000, spacy:en": ("CoNLL-2000", {"classes": SPACY}),
    "EWT, nothing": ("EWT", {}),
    "EWT, raw_english, C = 0.04": ("EWT", {"classes": RAW, "C": 0.04}),
    "EWT, spacy:en, C = 0.04": ("EWT", {"classes": SPACY, "C": 0.04}),
}


def read(folder: Path, file: str) -> Sentences:
    """The sentences of a file with their labels, in any of the formats of these corpora."""
    if (folder / file).is_dir():
        words, labels = (
            [line.split() for line in (folder / file / name).read_text().splitlines()]
            for name in ("seq.in", "seq.out")
        )
        return words, labels
    if file.endswith(".conllu"):
        return conllu(folder / file)
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


def conllu(path: Path) -> Sentences:
    """The words of a treebank with their parts of speech."""
    from taggers.labels.files import read_labelled

    columns, _ = read_labelled(path, labels=[3])
    return columns.sentences(0), columns.sentences(columns.width - 1)


def load(name: str, *wanted: str) -> list[Sentences]:
    from corpora import find

    if name in TENTHS:
        return [parts_of_training(TENTHS[name])[part] for part in wanted]
    _, folder, *files = SETS[name]
    top, _, below = folder.partition("/")
    names = dict(zip(("train", "dev", "test"), files, strict=True))
    return [read(find(top) / below, names[part]) for part in wanted]


def parts_of_training(tenth: int) -> dict[str, Sentences]:
    """CoNLL-2000's training file with one tenth held out."""
    ((X, y),) = load("CoNLL-2000", "train")
    low, high = (len(X) * k // 10 for k in (tenth, tenth + 1))
    return {"train": (X[:low] + X[high:], y[:low] + y[high:]), "dev": (X[low:high], y[low:high])}


def measure(name: str, options: dict[str, Any], parts: Sequence[str], seed: int | None) -> dict[str, Any]:
    """Train a preset, or python-crfsuite if there is no seed, and score it on the parts.

    With development and test data, also return the expected calibration error on the test data. Our
    probabilities are calibrated on the development data.
    """
    from taggers.metrics import calibration_error, span_f1, token_accuracy
    from taggers.tagger import TASKS

    metric = token_accuracy if SETS[name][0] == "pos" else span_f1
    train, *held_out = load(name, "train", *parts)
    tagger: Any
    if seed is None:
        tagger, figures = best_crfsuite(train, held_out[0], **options)
    else:
        tagger = TASKS[SETS[name][0]](random_state=seed, **with_knowledge(options))
        figures = {"train": cpu_timed(lambda: tagger.fit(*train))[1]}
    for part, (X, y) in zip(parts, held_out, strict=True):
        found, tagging = cpu_timed(partial(tagger.predict, X))
        figures |= {part: 100 * metric(y, found), "tokens_per_s": sum(map(len, found)) / tagging}
    if len(parts) == 2:
        (X, y), test = held_out
        tagger.calibrate(X, y)
        figures["calibration"] = 100 * calibration_error(test[1], tagger.predict_marginals(test[0]))
    return figures


def best_crfsuite(
    train: Sentences, dev: Sentences, features: str, grid: Sequence[tuple[float, float]]
) -> tuple[CrfSuite, dict[str, Any]]:
    """python-crfsuite with the c1 and c2 that are best on the development data, and its training time."""
    from taggers.metrics import span_f1

    peer = CrfSuite(features)
    _, reading = cpu_timed(lambda: peer.read(*train))
    best, scores = {"dev": -1.0}, []
    for c1, c2 in grid:
        model, seconds = cpu_timed(partial(peer.train, c1, c2))
        peer.use(model)
        scores.append(100 * span_f1(dev[1], peer.predict(dev[0])))
        if scores[-1] > best["dev"]:
            best = {"dev": scores[-1], "c1": c1, "c2": c2, "train": reading + seconds}
            chosen = model
    peer.use(chosen)
    return peer, best | {"grid": scores}


def with_knowledge(options: dict[str, Any]) -> dict[str, Any]:
    """Options with the file that ENGLISH stands for."""
    if "classes" not in options:
        return options
    english = str(FILES / "english.tsv")
    classes = {name: english if source == ENGLISH else source for name, source in options["classes"].items()}
    return options | {"classes": classes}


def write_knowledge() -> None:
    """Write the file of word classes, unless it exists from an earlier run."""
    from corpora import find
    from taggers import commands

    FILES.mkdir(exist_ok=True)
    if not (FILES / "english.tsv").exists():
        commands.classes([next(find("raw_english").glob("*.gz"))], FILES / "english.tsv")


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
    """python-crfsuite with the features of a template, or with the "usual" ones."""

    def __init__(self, features: str) -> None:
        from benchmarks.peers.tasks import Items

        self.template = None if features == "usual" else Items(features)

    def read(self, X: list[list[Any]], y: list[list[str]]) -> None:
        import pycrfsuite

        self.trainer, self.tagger = pycrfsuite.Trainer(verbose=False), pycrfsuite.Tagger()
        for tokens, labels in zip(X, y, strict=True):
            self.trainer.append(self._items(tokens), labels)

    def train(self, c1: float, c2: float, iterations: int = ITERATIONS) -> bytes:
        """The bytes of the model file."""
        self.trainer.set_params({"c1": c1, "c2": c2, "max_iterations": iterations})
        with tempfile.TemporaryDirectory() as folder:
            self.trainer.train(f"{folder}/model")
            return Path(folder, "model").read_bytes()

    def use(self, model: bytes) -> None:
        self.model = model  # python-crfsuite reads these bytes later, but does not keep them
        self.tagger.open_inmemory(model)

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
        if self.template is None:
            return usual_items(tokens)
        return self.template([[token] if isinstance(token, str) else list(token) for token in tokens])


def compare(task: str, tasks: Sequence[str]) -> None:
    """The settings of a task on the development data of its corpora, one seed.

    tasks: the name of the task for all its corpora, or "Danish dev" for one of them. Other corpora keep
    their results; without any, they have no column.
    """
    title, settings = f"reach-dev-{task}", CHOICES[task]
    found: dict[str, Any] = dict(kept_figures(title)) if tasks else {}
    for name in [name for name in SETS if SETS[name][0] == task and SETS[name][3]]:
        if not tasks or {task, f"{name} dev"} & {*tasks}:
            jobs = [
                {"name": name, "options": options, "parts": ["dev"], "seed": 0}
                for options in settings.values()
            ]
            found[name] = dict(zip(settings, measurements("benchmarks.reach", jobs), strict=True))
    rows = []
    for setting in settings:
        runs = [of_corpus[setting] for of_corpus in found.values()]
        scores = [run["dev"] for run in runs]
        shown = [f"{score:.2f}" for score in [*scores, statistics.mean(scores or [0])]]
        rows.append([setting, *shown, f"{sum(run['train'] for run in runs):.0f}"])
    if found:
        publish(title, table(["settings", *found, "mean", "training, CPU s"], rows), found)


def crfsuite(name: str, features: str) -> dict[str, Any]:
    """python-crfsuite on a corpus, with the features of a template or the usual ones."""
    job = {"name": name, "seed": None, "parts": ["dev", "test"]}
    return measurements("benchmarks.reach", [{**job, "options": {"features": features, "grid": GRID}}])[0]


def template(name: str) -> str:
    """The template of a corpus's preset, without the patterns of columns that the corpus does not have."""
    from taggers.features.template import fitting_template
    from taggers.tagger import TASKS

    ((X, _),) = load(name, "dev")
    width = 1 if isinstance(X[0][0], str) else len(X[0][0])
    return fitting_template(TASKS[SETS[name][0]]().settings()["template"], width).text


def ours(name: str, options: dict[str, Any], seeds: int) -> list[dict[str, Any]]:
    """A preset on a corpus, with several seeds."""
    parts = ["dev", "test"] if SETS[name][3] else ["test"]
    jobs = [{"name": name, "options": options, "parts": parts, "seed": seed} for seed in range(seeds)]
    return measurements("benchmarks.reach", jobs)


def with_crfsuite(name: str, seeds: int) -> dict[str, Any]:
    """The runs of a preset and of python-crfsuite on a corpus."""
    runs = {"default": ours(name, {}, seeds)}
    if SETS[name][0] == "ner":
        runs["greedy, IOB2"] = ours(name, GREEDY, seeds)
    return {**runs, "same": crfsuite(name, template(name)), "usual": crfsuite(name, "usual")}


def row(name: str, figures: dict[str, Any]) -> list[str]:
    """A row of the comparison with python-crfsuite."""
    default, same, usual = figures["default"], figures["same"], figures["usual"]
    rival = figures.get("greedy, IOB2", default)
    chosen = [max(pair, key=lambda run: run["dev"]) for pair in zip(default, rival, strict=True)]
    cells = [name, SETS[name][0], spread(default, "test", 2), spread(chosen, "test", 2)]
    cells += [f"{run['test']:.2f}" for run in (same, usual)]
    for key, digits in COMPARED:
        value = statistics.median(run[key] for run in default)
        cells += [f"{value:,.{digits}f}", f"{same[key]:,.{digits}f}"]
    return cells


def main(*, quick: bool = False, tasks: Sequence[str] = ()) -> None:
    """tasks: measure only these tables and corpora, and keep the other results."""
    seeds, suffix = (1, "-quick") if quick else (SEEDS, "")
    for task in CHOICES:
        if not quick:
            compare(task, tasks)
    found: dict[str, Any] = dict(kept_figures(f"reach{suffix}")) if tasks else {}
    for name in COMPARED_WITH_CRFSUITE:
        if not tasks or name in tasks:
            found[name] = with_crfsuite(name, seeds)
    header = ["corpus", "preset and template", f"F1, {seeds} seeds", "as `--dev` chooses",
              "CRFsuite, same template", "CRFsuite, usual features"]  # fmt: skip
    values = ", ".join(f"({c1:g}, {c2:g})" for c1, c2 in GRID)
    about = f"CRFsuite: at most {ITERATIONS} iterations; c1 and c2 from {values}, chosen on development data"
    header += [part for what in ("calibration error, %", "training, CPU s", "peak MB")
               for part in (what, "CRFsuite, same template")]  # fmt: skip
    if found:
        cells = [row(*one) for one in found.items()]
        publish(f"reach{suffix}", f"{table(header, cells)}\n\n{about}.", found)
    rows = [name for name in KNOWLEDGE if not tasks or name in tasks]
    if rows:
        if any("classes" in KNOWLEDGE[name][1] for name in rows):
            write_knowledge()
        runs: dict[str, Any] = dict(kept_figures(f"reach-knowledge{suffix}")) if tasks else {}
        runs |= {name: ours(*KNOWLEDGE[name], seeds) for name in rows}
        cells = [
            [name, spread(of_row, "dev", 2), spread(of_row, "test", 2),
             f"{statistics.median(run['train'] for run in of_row):.1f}"]
            for name, of_row in runs.items()
        ]  # fmt: skip
        header = ["corpus and knowledge", "development", f"test, {seeds} seeds", "training, CPU s"]
        publish(f"reach-knowledge{suffix}", table(header, cells), runs)
