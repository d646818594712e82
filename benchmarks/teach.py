"""Simulated annotators: how many labels a model needs if it may ask, and how long people wait for it.

Labels are revealed from gold, sentence by sentence. `curve`: the score after each number of labelled tokens,
in random order and in the order of each strategy of `query`. `loop`: learn each sentence immediately, or
retrain CRFsuite from scratch after every 50 sentences. `doubts`: wrong labels among the answers that the
model doubts most. `benchmarks.teach_page` measures the page itself.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import child, cpu_timed, figure, mean_spread, measurements, publish, table
from corpora import find

MODULE = "benchmarks.teach"
NAMES = {"spanish": "Spanish NER", "bc5cdr": "BC5CDR", "ewt": "EWT UPOS"}
WAYS = {
    "random": "random order",
    "asked": "margin, a tenth at random",
    "margin": "margin",
    "smallest": "smallest",
    "total": "total",
}
DRAWN = ("random", "asked")  # with several seeds; the others with one
SHARE = 0.9  # of the score of the whole file
FIRST, STEP, BATCH, SAMPLE = 500, 1.15, 0.05, 1000
RANDOM = 0.1
LOOP, LOOP_SENTENCES = 50, 500

Data = tuple[list[list[str]], list[list[str]]]


def read(name: str, part: str) -> Data:
    """The sentences and labels of a part (train, dev or test) of a corpus."""
    from taggers.labels.files import read_labelled

    if name == "spanish":
        path = find("conll2002") / {"train": "esp.train", "dev": "esp.testa", "test": "esp.testb"}[part]
    elif name == "bc5cdr":
        path = find("bc5cdr") / f"{'devel' if part == 'dev' else part}.tsv"
    else:
        path = find("ud_english_ewt") / f"{part}.conllu"
    columns, _ = read_labelled(path, inputs=None if name == "ewt" else [0])
    return columns.sentences(0), columns.sentences(columns.width - 1)


def new_tagger(name: str, reprocess: int | None = None) -> Any:
    from taggers import NerTagger, PosTagger

    return (PosTagger if name == "ewt" else NerTagger)(reprocess=reprocess)


def score(name: str, gold: list[list[str]], found: list[list[str]]) -> float:
    """Accuracy of parts of speech, F1 of entities."""
    from taggers.labels import schemes

    pairs = list(zip(gold, found, strict=True))
    if name == "ewt":
        return sum(a == b for one in pairs for a, b in zip(*one, strict=True)) / sum(map(len, gold))
    spans = [[set(schemes.spans(labels, "IOB2")) for labels in pair] for pair in pairs]
    right = sum(len(a & b) for a, b in spans)
    return 2 * right / max(sum(len(a) + len(b) for a, b in spans), 1)


def order(way: str, tagger: Any, X: list[list[str]], rng: np.random.Generator) -> Iterator[list[int]]:
    """The sentences to label, a few at a time; the tagger learns each part before the next one."""
    left = rng.permutation([k for k, words in enumerate(X) if words]).tolist()
    done = 0
    while left:
        n = max(1, int(BATCH * done))
        chosen = list(range(min(n, len(left))))
        if way != "random" and done:
            sample = rng.permutation(len(left))[:SAMPLE].tolist()
            strategy = "margin" if way == "asked" else way
            found = tagger.query([X[left[k]] for k in sample], n, strategy=strategy)
            asked = [sample[k] for k in found.tolist()]
            if way == "asked":
                asked = [k for k in asked if rng.random() >= RANDOM]
            others = (k for k in rng.permutation(len(left)).tolist() if k not in set(asked))
            chosen = [*asked, *(next(others) for _ in range(len(chosen) - len(asked)))]
        part = [left[k] for k in chosen]
        left = np.delete(np.array(left), chosen).tolist()
        done += len(part)
        yield part


def whole(name: str) -> dict[str, Any]:
    """The score on the test file after training on the whole training file."""
    from taggers.teach.learner import REPROCESS

    X, y = read(name, "train")
    X_test, y_test = read(name, "test")
    found = score(name, y_test, new_tagger(name, REPROCESS).fit(X, y).predict(X_test))
    return {"score": found, "tokens": sum(map(len, X))}


def curve(name: str, way: str, seed: int, most: int, target: float) -> dict[str, Any]:
    """The score on the test file along a session, until it reaches the target."""
    from taggers.teach.learner import REPROCESS

    X, y = read(name, "train")
    X_test, y_test = read(name, "test")
    tagger = new_tagger(name, REPROCESS)
    tagger.declare(sorted({label for labels in y for label in labels}), X=X)
    points, tokens, sentences, due, enough = [], 0, 0, FIRST, None
    for part in order(way, tagger, X, np.random.default_rng(seed)):
        for k in part:
            tagger.partial_fit([X[k]], [y[k]])
            tokens, sentences = tokens + len(X[k]), sentences + 1
        if tokens < due:
            continue
        due = int(max(due * STEP, tokens + 1))
        points.append((tokens, sentences, score(name, y_test, tagger.predict(X_test))))
        if points[-1][2] >= target:
            enough = points[-1][:2]
        if tokens > most or enough is not None:
            break
    return {"points": points, "enough": enough}


# -- the usual loop -----------------------------------------------------------------------------


def loop(name: str, seed: int, sentences: int) -> dict[str, Any]:
    """Random order: learn each sentence at once (presets), or train CRFsuite from scratch after LOOP."""
    X, y = read(name, "train")
    X_test, y_test = read(name, "test")
    rng = np.random.default_rng(seed)
    chosen = rng.permutation([k for k, words in enumerate(X) if words])[:sentences].tolist()
    tagger = new_tagger(name)
    tagger.declare(sorted({label for labels in y for label in labels}), X=X)
    items, test = {k: _items(X[k]) for k in chosen}, [_items(words) for words in X_test]
    points, ours, theirs = [], 0.0, 0.0
    for end in range(LOOP, len(chosen) + 1, LOOP):
        for k in chosen[end - LOOP : end]:
            ours += cpu_timed(partial(tagger.partial_fit, [X[k]], [y[k]]))[1]
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "model")
            train = [(items[k], y[k]) for k in chosen[:end]]
            theirs += cpu_timed(partial(_crfsuite, train, path))[1]
            if end in (100, 200, 500, 1000) or end == len(chosen):
                found = [
                    _score_crfsuite(name, path, test, y_test),
                    score(name, y_test, tagger.predict(X_test)),
                ]
                points.append((end, found[1], ours, found[0], theirs))
    return {"points": points}


def _items(words: list[str]) -> list[list[str]]:
    """Features as in the tutorial of python-crfsuite: words, affixes and shapes of a window of three."""
    rows = []
    for at in range(len(words)):
        row = ["bias"]
        for offset in (-1, 0, 1):
            if 0 <= at + offset < len(words):
                word = words[at + offset]
                row += [
                    f"{offset}:lower={word.lower()}", f"{offset}:title={word.istitle()}",
                    f"{offset}:upper={word.isupper()}", f"{offset}:digit={word.isdigit()}",
                ]  # fmt: skip
            else:
                row.append(f"{offset}:edge")
        word = words[at]
        row += [f"suffix={word[-n:]}" for n in (2, 3)] + [f"prefix={word[:n]}" for n in (2, 3)]
        rows.append(row)
    return rows


def _crfsuite(train: list[tuple[Any, list[str]]], path: str) -> None:
    import pycrfsuite

    trainer = pycrfsuite.Trainer(verbose=False)
    for rows, labels in train:
        trainer.append(rows, labels)
    trainer.set_params({"c1": 0.1, "c2": 0.1, "max_iterations": 50, "feature.possible_transitions": True})
    trainer.train(path)


def _score_crfsuite(name: str, path: str, test: list[Any], gold: list[list[str]]) -> float:
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    return score(name, gold, [tagger.tag(rows) for rows in test])


# -- doubts --------------------------------------------------------------------------------------


def doubts(name: str, sentences: int, wrong: float, seed: int) -> dict[str, Any]:
    """How many of the sentences that the model doubts most have a label that was changed at random."""
    from structsvm.teach.answers import Answer, item_id
    from taggers.teach.learner import TagLearner

    X, y = read(name, "train")
    rng = np.random.default_rng(seed)
    labels = sorted({label for one in y for label in one})
    changed, answers = set(), []
    learner = TagLearner("pos" if name == "ewt" else "label", pool=[{"tokens": words} for words in X])
    for label in labels:
        learner.add_name(label)
    for k in rng.permutation([k for k, words in enumerate(X) if words])[:sentences].tolist():
        value, item = list(y[k]), {"tokens": X[k]}
        if rng.random() < wrong:
            at = int(rng.integers(len(value)))
            value[at] = labels[(labels.index(value[at]) + int(rng.integers(1, len(labels)))) % len(labels)]
            changed.add(item_id(item))
        answers.append(Answer(item_id(item), item, value))
    for answer in answers:
        learner.learn([answer])
    sizes = [(size, answer.id) for answer, (size, _) in zip(answers, learner.doubt(answers), strict=True)]
    worst = [id for size, id in sorted(sizes, reverse=True)[: len(changed)] if size > 0]
    return {
        "sentences": len(answers), "wrong": len(changed), "looked at": len(worst),
        "found": sum(id in changed for id in worst),
    }  # fmt: skip


def measure(kind: str, **job: Any) -> dict[str, Any]:
    """One measurement, in its own process."""
    kinds: dict[str, Callable[..., dict[str, Any]]] = {
        "whole": whole, "curve": curve, "loop": loop, "doubts": doubts
    }  # fmt: skip
    return kinds[kind](**job)


# -- the report ---------------------------------------------------------------------------------


def main(*, quick: bool = False) -> None:
    """Publish the tables and a drawing for each corpus."""
    seeds, most = (1, 3_000) if quick else (3, 150_000)
    names = ["ewt"] if quick else list(NAMES)
    ending = "-quick" if quick else ""
    kept: dict[str, Any] = {}
    rows = []
    for name in names:
        (all_of_it,) = measurements(MODULE, [{"kind": "whole", "name": name}])
        target = SHARE * all_of_it["score"]
        runs = {
            way: measurements(MODULE, [
                {"kind": "curve", "name": name, "way": way, "seed": seed, "most": most, "target": target}
                for seed in range(seeds if way in DRAWN else 1)
            ])
            for way in WAYS
        }  # fmt: skip
        kept[name] = {"whole": all_of_it, **runs}
        rows += [[NAMES[name], f"{100 * target:.1f}", *_needed(way, runs)] for way in WAYS]
        _draw(f"teach-{name}{ending}", name, runs, target)
    header = [
        "corpus", "90% of the whole file's score", "order", "seeds", "sentences needed", "tokens needed",
        "relative to random",
    ]  # fmt: skip
    parts = [table(header, rows), _loops(kept, names, quick), _doubts(kept, names, quick)]
    publish(f"teach{ending}", "\n\n".join(parts), kept)


def _needed(way: str, runs: dict[str, list[dict[str, Any]]]) -> list[Any]:
    """The labels that an order needs, and the tokens relative to random order with the same seeds."""
    found = [run["enough"] for run in runs[way]]
    if None in found:
        return [WAYS[way], len(found), "not reached", "not reached", ""]
    sentences, tokens = ([pair[k] for pair in found] for k in (1, 0))
    pairs = zip(found, runs["random"], strict=False)
    ratios = [one[0] / base["enough"][0] for one, base in pairs if base["enough"] is not None]
    relative = mean_spread(ratios) if len(ratios) == len(found) else ""
    return [WAYS[way], len(found), f"{np.mean(sentences):,.0f}", f"{np.mean(tokens):,.0f}", relative]


def _draw(file: str, name: str, runs: dict[str, list[dict[str, Any]]], target: float) -> None:
    with figure(file, "labelled tokens", "accuracy" if name == "ewt" else "F1") as axes:
        for number, way in enumerate(DRAWN):
            for seed, run in enumerate(runs[way]):
                label = WAYS[way] if not seed else None
                x, y = [p[0] for p in run["points"]], [100 * p[2] for p in run["points"]]
                axes.plot(x, y, f"C{number}", label=label, linewidth=1)
        axes.axhline(100 * target, color="gray", linewidth=0.8)


def _loops(kept: dict[str, Any], names: list[str], quick: bool) -> str:
    """Compare learning each sentence immediately with retraining from scratch."""
    job = {"kind": "loop", "seed": 0, "sentences": 100 if quick else LOOP_SENTENCES}
    kept["loop"] = {name: measurements(MODULE, [{**job, "name": name}])[0] for name in names}
    return table(
        ["corpus", "sentences", "structsvm", "seconds of learning", "CRFsuite", "seconds of training"],
        [[NAMES[name], end, f"{100 * a:.1f}", f"{s:.1f}", f"{100 * b:.1f}", f"{t:.1f}"]
         for name, run in kept["loop"].items() for end, a, s, b, t in run["points"]],
    )  # fmt: skip


def _doubts(kept: dict[str, Any], names: list[str], quick: bool) -> str:
    """The queue of doubted labels."""
    job = {"kind": "doubts", "sentences": 300 if quick else 2000, "wrong": 0.05, "seed": 0}
    kept["doubts"] = {
        name: measurements(MODULE, [{**job, "name": name}])[0] for name in names if name != "bc5cdr"
    }
    columns = ("sentences", "wrong", "looked at", "found")
    return table(
        ["corpus", "sentences", "with one wrong label", "most doubted", "wrong labels among them"],
        [[NAMES[name], *(run[key] for key in columns)] for name, run in kept["doubts"].items()],
    )


if __name__ == "__main__":
    child(measure)
