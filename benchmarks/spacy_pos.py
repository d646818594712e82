"""Parts of speech (XPOS) of UD English EWT in spaCy: `structsvm_tagger` against spaCy's own `tagger`.

Both are trained by `spacy train`, on the same Docs with gold tokens, and keep the best model on the
development file: spaCy's tagger as `spacy init config --pipeline tagger --optimize efficiency` sets it up for
a CPU, ours with the config that we ship. The training time includes reading and evaluation. Labelling is
timed in CPU time, on Docs that already have tokens and on texts. Texts are also timed with an empty pipeline,
which shows the cost of spaCy's tokenizer and Docs alone.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.harness import in_own_process, publish, spread, table, timed

PEER = "spaCy tagger"
# with settings of the component
METHODS: dict[str, dict[str, Any]] = {
    "structsvm_tagger": {},
    "structsvm_tagger, greedy": {"options": {"inference": "greedy"}},
    PEER: {},
}
SMALL = {"prune": 0.03, "dtype": "int8"}  # chosen on the development file
REPEATS = 1


def config_of(name: str) -> Any:
    """The config to train with, reading CoNLL-U in either case."""
    from spacy.cli.init_config import init_config
    from thinc.api import Config

    from taggers.spacy.__main__ import config

    ours = Config().from_str(config("pos"), interpolate=False)
    if name != PEER:
        ours["components"]["structsvm_tagger"].update(METHODS[name])
        return ours
    theirs = init_config(lang="en", pipeline=["tagger"], optimize="efficiency", gpu=False, silent=True)
    theirs["corpora"] = ours["corpora"]
    return theirs


def measure(name: str, quick: bool) -> dict[str, Any]:
    """Train, then score and time the best model on the test file."""
    import spacy
    from spacy.cli.train import train

    from corpora import find
    from taggers.spacy.reader import make_reader

    folder = find("ud_english_ewt")
    overrides: dict[str, Any] = {
        "paths.train": str(folder / "train.conllu"),
        "paths.dev": str(folder / "dev.conllu"),
    }
    if quick:
        overrides["training.max_epochs"] = 1
    with tempfile.TemporaryDirectory() as scratch:
        config_of(name).to_disk(Path(scratch, "config.cfg"), interpolate=False)
        cpu = time.process_time()
        _, seconds = timed(
            lambda: train(Path(scratch, "config.cfg"), Path(scratch, "out"), overrides=overrides)
        )
        cpu = time.process_time() - cpu
        best = Path(scratch, "out", "model-best")
        nlp = spacy.load(best)
        test, dev = (list(make_reader(str(folder / f"{part}.conllu"))(nlp)) for part in ("test", "dev"))
        figures = {
            "accuracy": 100 * nlp.evaluate(test)["tag_acc"], "train": seconds, "cpu": cpu,
            "model_mb": megabytes(best, nlp.pipe_names), **rates(nlp, test),
        }  # fmt: skip
        if name != PEER:
            component: Any = nlp.get_pipe("structsvm_tagger")
            component.prune, component.dtype = SMALL["prune"], SMALL["dtype"]
            nlp.to_disk(Path(scratch, "small"))
            figures["small_mb"] = megabytes(Path(scratch, "small"), nlp.pipe_names)
            figures["small_accuracy"] = 100 * spacy.load(Path(scratch, "small")).evaluate(test)["tag_acc"]
        return figures | {"update_ms": update_ms(nlp, dev)}


def megabytes(folder: Path, names: list[str]) -> float:
    """Of all components: tok2vec is one of its own in spaCy's pipeline, and its tagger needs it."""
    files = [path for name in names for path in (folder / name).rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in files) / 1e6


def rates(nlp: Any, test: list[Any]) -> dict[str, float]:
    """Tokens per second of CPU time: of Docs with gold tokens, of texts, of texts in an empty pipeline."""
    import spacy
    from spacy.tokens import Doc

    words = [[token.text for token in example.reference] for example in test]
    texts = [" ".join(sentence) for sentence in words]
    empty = spacy.blank("en")

    def docs() -> list[Any]:
        return [Doc(nlp.vocab, words=sentence) for sentence in words]

    def rate(run: Any, make: Any) -> float:
        best = 0.0
        for _ in range(5):
            given = make()
            start = time.process_time()
            n = sum(map(len, run.pipe(given)))
            best = max(best, n / (time.process_time() - start))
        return best

    return {
        "tokens_per_s": rate(nlp, docs),
        "text_tokens_per_s": rate(nlp, lambda: texts),
        "floor_tokens_per_s": rate(empty, lambda: texts),
    }


def update_ms(nlp: Any, examples: list[Any]) -> float:
    """The median CPU time of one online `nlp.update` of one sentence, in milliseconds, after many others."""
    import warnings

    nlp.resume_training()
    spent = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a model saved without its state says so once
        for start in range(0, len(examples) - 300, 50):
            nlp.update(examples[start : start + 50])
        for example in examples[-300:]:
            begun = time.process_time()
            nlp.update([example])
            spent.append(1e3 * (time.process_time() - begun))
    return statistics.median(spent)


def main(*, quick: bool = False) -> None:
    """Alternate, so that a slow spell of the machine hits all; quick makes one pass over the data."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for repeat in range(1 if quick else REPEATS):
        for name in METHODS:
            runs.setdefault(name, []).append(
                in_own_process("benchmarks.spacy_pos", {"name": name, "quick": quick})
            )
            print(name, repeat, runs[name][-1], file=sys.stderr)
    publish("spacy-quick" if quick else "spacy", report(runs), runs)


def report(runs: dict[str, list[dict[str, Any]]]) -> str:
    def median(name: str, key: str) -> float:
        return statistics.median(run[key] for run in runs[name])

    def ratio(name: str, key: str, digits: int) -> str:
        return f"{median(name, key) / median(PEER, key):.{digits}f}"

    def small(name: str) -> str:
        return f"{median(name, 'small_mb'):.1f} ({median(name, 'small_accuracy'):.2f})"

    rows = [
        [
            name, spread(found, "accuracy", 2), f"{median(name, 'train'):.0f}", f"{median(name, 'cpu'):.0f}",
            ratio(name, "cpu", 2), f"{median(name, 'tokens_per_s'):,.0f}", ratio(name, "tokens_per_s", 1),
            f"{median(name, 'text_tokens_per_s'):,.0f}", f"{median(name, 'update_ms'):.2f}",
            f"{median(name, 'model_mb'):.1f}", "" if name == PEER else small(name),
            f"{median(name, 'peak_mb'):.0f}",
        ]
        for name, found in runs.items()
    ]  # fmt: skip
    header = ["EWT, XPOS", "accuracy %", "training, s", "CPU s", "CPU / spaCy's", "Docs, tokens/s"]
    header += ["times spaCy's", "texts, tokens/s", "update, ms", "model MB", "small (accuracy)", "peak MB"]
    floor = max(run["floor_tokens_per_s"] for found in runs.values() for run in found)
    return (
        f"{table(header, rows)}\n\nTexts through spaCy's tokenizer, without any component: {floor:,.0f} "
        f"tokens/s. Rates, and updates of one sentence, are in CPU time. spaCy {version('spacy')}"
    )
