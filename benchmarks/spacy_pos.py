"""Parts of speech (XPOS) of UD English EWT in spaCy: `structsvm_tagger` beside spaCy's own `tagger`.

Both are trained by `spacy train`, on the same Docs with gold tokens, and keep the best model on the
development file: spaCy's tagger as `spacy init config --pipeline tagger --optimize efficiency` sets it up for
a CPU, ours with the config that we ship. Training is timed with all that it does, reading and evaluation
included.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.harness import in_own_process, publish, spread, table, timed

PEER = "spaCy tagger"
# with settings of the component; `prune` was chosen on the development file
METHODS: dict[str, dict[str, Any]] = {
    "structsvm_tagger": {},
    "structsvm_tagger, small": {"prune": 0.03, "dtype": "int8"},
    "structsvm_tagger, greedy": {"options": {"inference": "greedy"}},
    PEER: {},
}
REPEATS = 3


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
    from spacy.tokens import Doc

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
        config = config_of(name)
        config.to_disk(Path(scratch, "config.cfg"), interpolate=False)
        cpu = time.process_time()
        _, seconds = timed(
            lambda: train(Path(scratch, "config.cfg"), Path(scratch, "out"), overrides=overrides)
        )
        cpu = time.process_time() - cpu
        best = Path(scratch, "out", "model-best")
        nlp = spacy.load(best)
        test = list(make_reader(str(folder / "test.conllu"))(nlp))
        words = [[token.text for token in example.reference] for example in test]
        rates = []
        for _ in range(5):
            docs = [Doc(nlp.vocab, words=sentence) for sentence in words]
            _, labelling = timed(partial(list, nlp.pipe(docs)))
            rates.append(sum(map(len, words)) / labelling)
        # tok2vec is a component of its own in spaCy's pipeline, without which its tagger does nothing
        parts = [path for part in nlp.pipe_names for path in (best / part).rglob("*") if path.is_file()]
        return {
            "accuracy": 100 * nlp.evaluate(test)["tag_acc"],
            "train": seconds,
            "cpu": cpu,
            "tokens_per_s": max(rates),
            "model_mb": sum(path.stat().st_size for path in parts) / 1e6,
        }


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

    rows = [
        [
            name, spread(found, "accuracy", 2), f"{median(name, 'train'):.0f}", f"{median(name, 'cpu'):.0f}",
            f"{median(name, 'train') / median(PEER, 'train'):.2f}", f"{median(name, 'tokens_per_s'):,.0f}",
            f"{median(name, 'tokens_per_s') / median(PEER, 'tokens_per_s'):.1f}",
            f"{median(name, 'model_mb'):.1f}", f"{median(name, 'peak_mb'):.0f}",
        ]
        for name, found in runs.items()
    ]  # fmt: skip
    header = ["EWT, XPOS", "accuracy %", "training, s", "of CPU", "time / spaCy's"]
    header += ["nlp.pipe, tokens/s", "times spaCy's", "model MB", "peak MB"]
    return f"{table(header, rows)}\n\nspaCy {version('spacy')}"
