"""Defaults for ready features, against the defaults of sklearn-crfsuite, from 100 sentences to all.

Both programs get the same dicts: features as people write them, about ten per token. Neither has seen the
test data; the default of C was chosen on other parts of these corpora. The peer is python-crfsuite with the
defaults that sklearn-crfsuite uses (L-BFGS, c2 = 1). A score is the mean of three draws of training
sentences, on the first 1,500 test sentences; times are CPU times of training. The interval of a difference
is that of 1,000 bootstrap samples of the test sentences.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness import cpu_timed, kept_figures, measurements, publish, table

SIZES, DRAWS, TEST = (100, 300, 1000, 0), 3, 1500  # 0: all sentences, drawn once
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


def data(name: str, sentences: int, draw: int) -> tuple[Any, Any, Any, Any]:
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
    if sentences:
        order = random.Random(draw).sample(range(len(X)), max(SIZES))[:sentences]
        X, y = [X[k] for k in order], [y[k] for k in order]
    dicts = [[[features(one, k) for k in range(len(one))] for one in part] for part in (X, X_test[:TEST])]
    return dicts[0], y, dicts[1], y_test[:TEST]


def measure(name: str, sentences: int, draws: int) -> dict[str, Any]:
    """The scores and training times of both programs, and the interval of their difference."""
    import pycrfsuite

    from taggers.tagger import TASKS as KINDS
    from taggers.uncertainty import compare, sentence_counts, share_of

    task = TASKS[name][0]
    counts: Any = [0, 0]
    scores: list[list[float]] = [[], []]
    times = [0.0, 0.0]
    for draw in range(draws):
        X, y, X_test, y_test = data(name, sentences, draw)
        tagger = KINDS[task]()
        _, seconds = cpu_timed(partial(tagger.fit, X, y))
        times[0] += seconds / draws
        trainer = pycrfsuite.Trainer(verbose=False)
        for items, labels in zip(X, y, strict=True):
            trainer.append(items, labels)
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder, "model"))
            _, seconds = cpu_timed(partial(trainer.train, path))
            times[1] += seconds / draws
            peer = pycrfsuite.Tagger()
            peer.open(path)
            answers = [tagger.predict(X_test), [peer.tag(items) for items in X_test]]
        for which, labels in enumerate(answers):
            found = sentence_counts(y_test, labels, spans=task != "pos")
            counts[which] = counts[which] + found
            scores[which].append(100 * float(share_of(found.sum(axis=0))))
    between = compare(counts[1], counts[0]).difference
    return {
        "ours": scores[0], "theirs": scores[1], "seconds": times,
        "low": 100 * between.low, "high": 100 * between.high,
    }  # fmt: skip


def main(*, quick: bool = False, tasks: Sequence[str] = ()) -> None:
    """tasks: measure only these rows, and keep the other results."""
    title = "small-data-quick" if quick else "small-data"
    runs: dict[str, Any] = dict(kept_figures(title)) if tasks else {}
    sizes = SIZES[:1] if quick else SIZES
    for name in tasks or TASKS:
        jobs = [{"name": name, "sentences": n, "draws": DRAWS if n and not quick else 1} for n in sizes]
        runs[name] = dict(zip(map(str, sizes), measurements("benchmarks.small_data", jobs), strict=True))
    rows = []
    for name in filter(runs.__contains__, TASKS):
        for n, run in runs[name].items():
            ours, theirs = (sum(run[who]) / len(run[who]) for who in ("ours", "theirs"))
            rows.append([
                name, "all" if n == "0" else n, f"{ours:.2f}", f"{theirs:.2f}",
                f"{ours - theirs:+.2f} ({run['low']:+.2f} to {run['high']:+.2f})",
                *(f"{seconds:.1f}" for seconds in run["seconds"]),
            ])  # fmt: skip
    header = [
        "corpus",
        "sentences",
        "structsvm",
        "CRFsuite",
        "difference (95% interval)",
        "CPU s",
        "CRFsuite, CPU s",
    ]
    publish(title, table(header, rows), runs)
