"""Defaults for ready features and few sentences, against the defaults of sklearn-crfsuite.

Both programs get the same dicts: features as people write them, about ten per token. Neither has seen the
test data; the default of C was chosen on other parts of these corpora. The peer is python-crfsuite with the
defaults that sklearn-crfsuite uses (L-BFGS, c2 = 1). A score is the mean of the draws of training sentences,
on the first 1,500 test sentences; times are CPU times of training.
"""

from __future__ import annotations

import random
import statistics
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness import cpu_timed, kept_figures, measurements, publish, table

SIZES, DRAWS, TEST = (100, 300, 1000), 3, 1500
# name: the class of the tagger, corpus, training file, test file; without one, the last third is the test set
TASKS: dict[str, tuple[str, str, str, str]] = {
    "Spanish names": ("ner", "conll2002", "esp.train", "esp.testb"),
    "Danish names": ("ner", "uner_danish", "train.iob2", "test.iob2"),
    "Wikipedia names": ("ner", "wikigold", "wikigold.conll.txt", ""),
    "names in tweets": ("ner", "btc", "train.txt", "test.txt"),
    "chemicals and diseases": ("ner", "bc5cdr", "train.tsv", "test.tsv"),
    "ATIS slots": ("ner", "slots", "atis/train", "atis/test"),
    "CoNLL-2000 chunks": ("chunk", "conll2000", "train.txt", "test.txt"),
    "EWT UPOS": ("pos", "ud_english_ewt", "train.conllu", "test.conllu"),
}


def word_of(token: Any) -> str:
    """The word of a token."""
    return token[0] if isinstance(token, tuple) else token


def features(sentence: Sequence[Any], at: int) -> dict[str, Any]:
    """A token as a dict: word and case of the token and its neighbours, two suffixes, parts of speech."""
    word = word_of(sentence[at])
    found: dict[str, Any] = {"bias": 1.0, "end3": word[-3:], "end2": word[-2:], "digits": word.isdigit()}
    for distance in (-1, 0, 1):
        if not 0 <= at + distance < len(sentence):
            found[f"{distance}:outside"] = True
            continue
        token = sentence[at + distance]
        near = word_of(token)
        found |= {
            f"{distance}:lower": near.lower(), f"{distance}:title": near.istitle(),
            f"{distance}:upper": near.isupper(),
        }  # fmt: skip
        if isinstance(token, tuple):
            found[f"{distance}:tag"] = token[1]
    return found


def data(name: str, draw: int) -> tuple[Any, Any, Any, Any]:
    """The training and test sentences of a draw, with their labels."""
    from benchmarks.reach import read
    from corpora import find

    _, corpus, train, test = TASKS[name]
    X, y = read(find(corpus), train)
    if test:
        X_test, y_test = read(find(corpus), test)
    else:
        stop = 2 * len(X) // 3
        X, y, X_test, y_test = X[:stop], y[:stop], X[stop:], y[stop:]
    order = random.Random(draw).sample(range(len(X)), max(SIZES))
    parts = ([X[k] for k in order], [y[k] for k in order]), (X_test[:TEST], y_test[:TEST])
    dicts = [[[features(one, k) for k in range(len(one))] for one in part] for part, _ in parts]
    return dicts[0], parts[0][1], dicts[1], parts[1][1]


def measure(name: str, draw: int) -> dict[str, Any]:
    """The score and training time of both programs for each number of sentences."""
    import pycrfsuite

    from taggers.metrics import span_f1, token_accuracy
    from taggers.tagger import TASKS as KINDS

    task = TASKS[name][0]
    X, y, X_test, y_test = data(name, draw)
    score = token_accuracy if task == "pos" else span_f1
    found: dict[str, Any] = {}
    for n in SIZES:
        tagger = KINDS[task]()
        _, seconds = cpu_timed(partial(tagger.fit, X[:n], y[:n]))
        found[f"ours {n}"] = 100 * score(y_test, tagger.predict(X_test)), seconds
        trainer = pycrfsuite.Trainer(verbose=False)
        for items, labels in zip(X[:n], y[:n], strict=True):
            trainer.append(items, labels)
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder, "model"))
            _, seconds = cpu_timed(partial(trainer.train, path))
            peer = pycrfsuite.Tagger()
            peer.open(path)
            found[f"theirs {n}"] = 100 * score(y_test, [peer.tag(items) for items in X_test]), seconds
    return found


def main(*, quick: bool = False, tasks: Sequence[str] = ()) -> None:
    """tasks: measure only these rows, and keep the other results."""
    title = "small-data-quick" if quick else "small-data"
    runs: dict[str, Any] = dict(kept_figures(title)) if tasks else {}
    for name in tasks or TASKS:
        jobs = [{"name": name, "draw": draw} for draw in range(1 if quick else DRAWS)]
        runs[name] = measurements("benchmarks.small_data", jobs)
    rows = []
    for name in filter(runs.__contains__, TASKS):
        for n in SIZES:
            ours, theirs = ([run[f"{who} {n}"] for run in runs[name]] for who in ("ours", "theirs"))
            gains = [a - b for (a, _), (b, _) in zip(ours, theirs, strict=True)]
            means = [statistics.mean(score for score, _ in each) for each in (ours, theirs)]
            times = [statistics.mean(seconds for _, seconds in each) for each in (ours, theirs)]
            rows.append([
                name, n, *(f"{mean:.2f}" for mean in means),
                f"{statistics.mean(gains):+.2f} ({min(gains):+.2f} to {max(gains):+.2f})",
                *(f"{seconds:.2f}" for seconds in times),
            ])  # fmt: skip
    header = [
        "corpus",
        "sentences",
        "structsvm",
        "CRFsuite",
        "difference (of each draw)",
        "CPU s",
        "CRFsuite, CPU s",
    ]
    publish(title, table(header, rows), runs)
