"""Taggers learned from unlabelled text and sources of labels: `python -m benchmarks weak`.

* Dictionaries: the names of AutoNER's dictionaries in the text of bc5cdr/train, whose labels are not read.
* Distant labels: Wikigold as BOND labels it. The knowledge comes from packages.
* Crowds: 20 simulated annotators with skills from 0.5 to 0.95 and their own confusions; 3 to 5 of them label
  each of the first 3,000 sentences. Tagger and consensus use no gold labels.
* Odd crowds: 4 annotators label each of 600 sentences; many of them miss phrases, shift borders, confuse
  types, label nothing or invent phrases. The labels are compared with gold, without training.
* A teacher: spaCy's es_core_news_sm labels the text of esp.train. The score is the agreement with the teacher
  on esp.testb, and both are timed there; the teacher runs only the components that it needs.
* Errors: 5% of the phrases (EWT: tokens) of the training sets get another type, another border, or lose their
  label. The rankings of `find_label_errors` and of cleanlab, which gets the probabilities of our folds, are
  read until half of the errors are found. Real errors in the data count as wrong.

All taggers have the defaults of their class. The rules of `distil` were chosen on bc5cdr/devel and on parts
of uner_danish, Spanish testa and Wikigold's development set. The rule for missing names was replaced after a
first run on the test set of BC5CDR, which is therefore not untouched.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import cpu_timed, kept_figures, measurements, publish, spread, table

SEEDS = 3
ANNOTATORS, SENTENCES = 20, 3000
TEACHER = "es_core_news_sm"
ERRORS = 0.05
# How often an annotator misses a phrase, shifts a border, takes one type for another, and labels a word as a
# phrase of a random type.
HABITS = {
    "good": (0.05, 0.05, 0.05, 0.002), "mixed": (0.1, 0.1, 0.1, 0.005), "misses": (0.5, 0.05, 0.05, 0.002),
    "shifts": (0.05, 0.5, 0.05, 0.002), "confuses": (0.05, 0.05, 0.6, 0.002), "lazy": (1.0, 0.0, 0.0, 0.0),
    "spams": (1.0, 0.0, 0.0, 0.12),
}  # fmt: skip
CROWDS = {
    "mixed": ["mixed"] * 20,
    **{f"{who}, one of two": ["good", "mixed", who, who] * 4 for who in ("misses", "shifts", "confuses")},
    **{f"{who}, one of four": ["mixed", "mixed", "mixed", who] * 5 for who in ("lazy", "spams")},
    "four annotators": ["mixed", "misses", "shifts", "lazy"],
}
MERGED = 600  # sentences
Rows = list[list[Any]]


def f1(gold: Rows, found: Rows) -> float:
    """F1 of phrases in IOB2."""
    from taggers.labels.schemes import spans

    right = sum(len({*spans(a, "IOB2")} & {*spans(b, "IOB2")}) for a, b in zip(gold, found, strict=True))
    return 200 * right / max(sum(len(spans(row, "IOB2")) for row in [*gold, *found]), 1)


def accuracy(gold: Rows, found: Rows) -> float:
    """The share of right labels, in percent."""
    pairs = [(a, b) for row, other in zip(gold, found, strict=True) for a, b in zip(row, other, strict=True)]
    return 100 * statistics.mean(a == b for a, b in pairs)


def dictionaries(way: str, seed: int) -> tuple[Any, Rows, Rows, Rows]:
    """Train on the text of bc5cdr/train; sentences, labels and predictions of the test set."""
    from corpora import find
    from taggers import NerTagger, read_sentences
    from taggers.weak import distil, gazetteer

    X, y = read_sentences(find("bc5cdr") / "train.tsv")
    lines = (find("autoner_bc5cdr") / "dict_core.txt").read_text(encoding="utf-8").splitlines()
    lists = [(type_, [name]) for type_, _, name in (line.partition("\t") for line in lines)]
    phrases = find("autoner_bc5cdr") / "dict_full.txt"
    tagger: Any = NerTagger(random_state=seed)
    if way == "gold labels":
        tagger.fit(X, y)
    elif way == "names, O elsewhere":
        tagger.fit(X, [[one or "O" for one in row] for row in gazetteer(lists).answer(X)])
    else:
        source = gazetteer(lists, phrases=phrases if way == "names and phrases" else None)
        tagger = distil(X, [source], tagger=tagger, random_state=seed).tagger
    X, y = read_sentences(find("bc5cdr") / "test.tsv")
    return tagger, X, y, tagger.predict(X)


def distant(way: str, seed: int) -> tuple[Any, Rows, Rows, Rows]:
    """Train on distant labels of Wikigold; sentences, labels and predictions of the test set."""
    from corpora import find
    from taggers import NerTagger
    from taggers.weak import Source, distil

    def read(part: str) -> tuple[Rows, Rows]:
        folder = find("wikigold_distant")
        names = {number: name for name, number in json.loads((folder / "tag_to_id.json").read_text()).items()}
        records = json.loads((folder / f"{part}.json").read_text())
        labels = [[names[number] for number in record["tags"]] for record in records]
        return [record["str_words"] for record in records], labels

    X, y = read("train")
    options: dict[str, Any] = {}
    if "knowledge" in way:
        options["knowledge"] = "en"  # names, capitals, frequencies and Brown clusters of packages
    tagger: Any = NerTagger(random_state=seed, **options)
    if way == "O elsewhere":
        tagger.fit(X, y)
    else:
        rows = [[None if one == "O" else one for one in row] for row in y]
        source = Source("distant", lambda X: rows, whole=True)
        tagger = distil(X, [source], tagger=tagger, random_state=seed).tagger
    X, y = read("test")
    return tagger, X, y, tagger.predict(X)


def crowd(y: Rows, seed: int, *, phrases: bool) -> dict[str, Rows]:
    """The answers of simulated annotators with their own skills and confusions."""
    from taggers.labels.schemes import OUTSIDE, encode, spans

    rng = random.Random(seed)
    kinds = sorted({one[2:] if phrases else one for row in y for one in row if one != OUTSIDE or not phrases})
    skills = [rng.uniform(0.5, 0.95) for _ in range(ANNOTATORS)]
    wrong = [{kind: rng.choice([k for k in kinds if k != kind]) for kind in kinds} for _ in skills]
    votes: dict[str, Rows] = {f"annotator {k}": [[None] * len(row) for row in y] for k in range(ANNOTATORS)}
    for number, row in enumerate(y):
        for who in rng.sample(range(ANNOTATORS), rng.randint(3, 5)):
            skill, confused, n = skills[who], wrong[who], len(row)
            if not phrases:
                found = [k if rng.random() < skill else rng.choice([confused[k], *kinds]) for k in row]
            else:
                given = []
                for kind, start, stop in spans(row, "IOB2"):
                    error = rng.random() if rng.random() > skill else 2.0
                    if error < 0.4:
                        continue
                    if error < 0.7:
                        kind = confused[kind]
                    elif error < 1:
                        start, stop = rng.choice([(max(start - 1, 0), stop), (start, min(stop + 1, n))])
                    given.append((start, stop, kind))
                if rng.random() > (1 + skill) / 2:
                    at = rng.randrange(n)
                    given.append((at, at + 1, rng.choice(kinds)))
                kept: list[tuple[str, int, int]] = []
                for start, stop, kind in sorted(given):
                    if not kept or start >= kept[-1][2]:
                        kept.append((kind, start, stop))
                found = encode(kept, n, "IOB2")
            votes[f"annotator {who}"][number] = found
    return votes


def odd_crowd(y: Rows, habits: Sequence[str], each: int, seed: int) -> dict[str, Rows]:
    """The answers of annotators with habits (see `HABITS`). each: how many label each sentence."""
    from taggers.labels.schemes import OUTSIDE, encode, spans

    rng = random.Random(seed)
    kinds = sorted({one[2:] for row in y for one in row if one != OUTSIDE})
    wrong = [{kind: rng.choice([k for k in kinds if k != kind]) for kind in kinds} for _ in habits]
    votes: dict[str, Rows] = {f"annotator {k}": [[None] * len(row) for row in y] for k in range(len(habits))}
    for number, row in enumerate(y):
        for who in rng.sample(range(len(habits)), each):
            n, (missed, shifted, confused, invented) = len(row), HABITS[habits[who]]
            given = [(at, at + 1, rng.choice(kinds)) for at in range(n) if rng.random() < invented]
            for kind, start, stop in spans(row, "IOB2"):
                if rng.random() >= missed:
                    if rng.random() < shifted:
                        borders = [(start - 1, stop), (start + 1, stop), (start, stop - 1), (start, stop + 1)]
                        start, stop = rng.choice([(a, b) for a, b in borders if 0 <= a < b <= n] or [(0, n)])
                    given.append((start, stop, wrong[who][kind] if rng.random() < confused else kind))
            kept: list[tuple[str, int, int]] = []
            for start, stop, kind in sorted(given):
                if not kept or start >= kept[-1][2]:
                    kept.append((kind, start, stop))
            votes[f"annotator {who}"][number] = encode(kept, n, "IOB2")
    return votes


def merged_by(way: str, habit: str, seed: int) -> tuple[Rows, Rows]:
    """The gold labels, and the labels that one way to merge answers gives."""
    from corpora import find
    from taggers import read_sentences
    from taggers.weak import aggregate

    X, y = read_sentences(find("conll2002") / "esp.train", inputs=[0])
    X, y = X[:MERGED], y[:MERGED]
    votes = odd_crowd(y, CROWDS[habit], 4, seed)
    if way == "skweak":
        return y, skweak_hmm(X, votes)
    if way != "aggregate":
        return y, {"majority": majority, "Dawid-Skene": dawid_skene}[way](votes)
    return y, aggregate(votes).best()


def skweak_hmm(X: Rows, votes: dict[str, Rows]) -> Rows:
    """The most probable labels by skweak's hidden Markov model."""
    import spacy
    from skweak.aggregation import HMM

    from taggers.labels.schemes import encode, spans

    vocabulary = spacy.blank("xx").vocab
    docs = [spacy.tokens.Doc(vocabulary, words=words) for words in X]
    kinds = set()
    for name, rows in votes.items():
        for doc, row in zip(docs, rows, strict=True):
            if row and row[0] is not None:
                found = spans(row, "IOB2")
                kinds |= {kind for kind, _, _ in found}
                doc.spans[name] = [spacy.tokens.Span(doc, a, b, label=kind) for kind, a, b in found]
    with redirect_stdout(sys.stderr):  # it prints its progress
        merged = list(HMM("merged", sorted(kinds)).fit_and_aggregate(docs))
    return [
        encode([(one.label_, one.start, one.end) for one in doc.spans["merged"]], len(doc), "IOB2")
        for doc in merged
    ]


def majority(votes: dict[str, Rows]) -> Rows:
    """The most frequent answer for each token."""
    found = []
    for rows in zip(*votes.values(), strict=True):
        counts = [Counter(one for one in answers if one is not None) for answers in zip(*rows, strict=True)]
        found.append([one.most_common(1)[0][0] for one in counts])
    return found


def dawid_skene(votes: dict[str, Rows], steps: int = 30) -> Rows:
    """The most probable label of each token by the model of Dawid and Skene (1979)."""
    names = sorted({one for rows in votes.values() for row in rows for one in row if one is not None})
    number = {name: k for k, name in enumerate(names)}
    answers = np.array([[number.get(one, -1) for row in rows for one in row] for rows in votes.values()])
    posterior = np.stack([(answers == k).sum(axis=0) for k in range(len(names))], axis=1) + 1e-9
    posterior /= posterior.sum(axis=1, keepdims=True)
    for _ in range(steps):
        log = np.tile(np.log(posterior.mean(axis=0)), (answers.shape[1], 1))
        for own in answers:
            at = own >= 0
            table = np.stack([posterior[own == k].sum(axis=0) for k in range(len(names))], axis=1) + 0.01
            log[at] += np.log(table / table.sum(axis=1, keepdims=True))[:, own[at]].T
        posterior = np.exp(log - log.max(axis=1, keepdims=True))
        posterior /= posterior.sum(axis=1, keepdims=True)
    flat = iter(posterior.argmax(axis=1).tolist())
    return [[names[next(flat)] for _ in row] for row in next(iter(votes.values()))]


def _given(rows: Rows, X: Any) -> Rows:
    return rows


def annotated(corpus: str, way: str, seed: int) -> tuple[Any, Rows, Rows, Rows]:
    """Train on the answers of a crowd; sentences, labels and predictions of the test set."""
    from corpora import find
    from taggers import NerTagger, PosTagger, SequenceTagger, read_sentences
    from taggers.weak import Source, distil

    spanish = corpus == "conll2002"
    folder = find(corpus)
    train, test = ("esp.train", "esp.testb") if spanish else ("train.conllu", "test.conllu")
    reading: dict[str, Any] = {"inputs": [0]} if spanish else {"label": "upos"}
    X, y = read_sentences(folder / train, **reading)
    X, y = X[:SENTENCES], y[:SENTENCES]
    tagger: SequenceTagger = (NerTagger if spanish else PosTagger)(random_state=seed)
    votes = crowd(y, seed, phrases=spanish)
    learned: dict[str, Callable[[], Rows]] = {
        "gold labels": lambda: y, "majority": lambda: majority(votes),
        "Dawid-Skene": lambda: dawid_skene(votes),
    }  # fmt: skip
    if way in learned:
        tagger.fit(X, learned[way]())
    else:
        sources = [Source(name, partial(_given, rows), whole=True) for name, rows in votes.items()]
        task = "ner" if spanish else "pos"
        tagger = distil(X, sources, task=task, tagger=tagger, random_state=seed).tagger
    X, y = read_sentences(folder / test, **reading)
    return tagger, X, y, tagger.predict(X)


def taught(way: str, seed: int) -> dict[str, float]:
    """Learn from a pipeline of spaCy: agreement with it, and the tokens per CPU second of both."""
    import spacy

    from corpora import find
    from taggers import read_sentences
    from taggers.weak import distil, teacher

    task = "ner" if way == "entities" else "pos"
    X, test = (read_sentences(find("conll2002") / name, inputs=[0])[0] for name in ("esp.train", "esp.testb"))
    source = teacher(f"spacy:{TEACHER}", task=task)
    (tagger, seconds) = cpu_timed(lambda: distil(X, [source], task=task, random_state=seed).tagger)
    nlp = spacy.load(TEACHER)
    nlp.select_pipes(enable=["ner" if task == "ner" else "morphologizer", "tok2vec"])
    docs = [spacy.tokens.Doc(nlp.vocab, words=words) for words in test]
    _, slow = cpu_timed(lambda: [*nlp.pipe(docs)])
    tagger.predict(test[:1])
    found, fast = cpu_timed(lambda: tagger.predict(test))
    tokens, wanted = sum(map(len, test)), source.answer(test)
    return {
        "score": (f1 if task == "ner" else accuracy)(wanted, found), "seconds": seconds,
        "teacher": tokens / slow, "student": tokens / fast,
    }  # fmt: skip


def planted(data: str, way: str, seed: int) -> dict[str, float]:
    """Plant errors: the precision of the ranking where it has found half of them."""
    from corpora import find
    from taggers import NerTagger, PosTagger, read_sentences
    from taggers.weak.crossing import cross_predict
    from taggers.weak.doubts import CHEAP, FOLDS, find_label_errors, plant_errors

    names = {
        "Spanish": "conll2002/esp.train", "BC5CDR": "bc5cdr/train.tsv", "EWT": "ud_english_ewt/train.conllu"
    }  # fmt: skip
    folder, name = names[data].split("/")
    reading: dict[str, Any] = {"inputs": [0]} if data == "Spanish" else {}
    X, y = read_sentences(find(folder) / name, **(reading | ({"label": "upos"} if data == "EWT" else {})))
    tagger = (PosTagger if data == "EWT" else NerTagger)(**CHEAP)
    # The seeds differ from those of the errors that `find_label_errors` plants itself.
    y, places = plant_errors(y, "none" if data == "EWT" else "IOB2", share=ERRORS, seed=1000 + seed)
    ranking: list[tuple[int, int, int]]
    if way == "doubts":
        found, seconds = cpu_timed(lambda: find_label_errors(X, y, tagger=tagger, random_state=seed))
        ranking = [(one.sentence, one.start, one.stop) for one in found]
    else:
        from cleanlab.token_classification.rank import get_label_quality_scores

        crossed, seconds = cpu_timed(lambda: cross_predict(tagger, X, y, folds=FOLDS, seed=seed))
        number = {name: k for k, name in enumerate(crossed.names)}
        each = np.split(crossed.probabilities.astype(float), crossed.sentence_ptr[1:-1])
        _, of_tokens = get_label_quality_scores([[number[one] for one in row] for row in y], each)
        tokens = [(number, k, k + 1) for number, row in enumerate(y) for k in range(len(row))]
        order = np.argsort(np.concatenate(of_tokens), kind="stable")
        ranking = [tokens[at] for at in order.tolist()]
    return {"score": precision_at_half(ranking, places), "seconds": seconds}


def precision_at_half(
    ranking: Sequence[tuple[int, int, int]], places: Sequence[tuple[int, int, int]]
) -> float:
    """The percentage of right ones among the first of the ranking that touch half of the places."""
    at: dict[tuple[int, int], set[int]] = {}
    for number, (sentence, start, stop) in enumerate(places):
        for token in range(start, stop):
            at.setdefault((sentence, token), set()).add(number)
    hit: set[int] = set()
    right = 0
    for seen, (sentence, start, stop) in enumerate(ranking, 1):
        touched: set[int] = set().union(*(at.get((sentence, token), ()) for token in range(start, stop)))
        right += bool(touched)
        hit |= touched
        if 2 * len(hit) >= len(places):
            return 100 * right / seen
    return 0.0


def measure(data: str, way: str, seed: int) -> dict[str, Any]:
    """The score of one way to learn, and its CPU seconds."""
    warnings.simplefilter("ignore")
    if data == "teacher":
        return taught(way, seed)
    if data.startswith("errors in "):
        return planted(data.removeprefix("errors in "), way, seed)
    if data in CROWDS:
        (gold, found), seconds = cpu_timed(lambda: merged_by(way, data, seed))
        return {"score": f1(gold, found), "seconds": seconds}
    learn: dict[str, Callable[[str, int], tuple[Any, Rows, Rows, Rows]]] = {
        "BC5CDR": dictionaries, "Wikigold": distant,
        "Spanish": lambda way, seed: annotated("conll2002", way, seed),
        "EWT": lambda way, seed: annotated("ud_english_ewt", way, seed),
    }  # fmt: skip
    (_, _, gold, found), seconds = cpu_timed(lambda: learn[data](way, seed))
    return {"score": (accuracy if data == "EWT" else f1)(gold, found), "seconds": seconds}


WAYS: dict[str, Sequence[str]] = {
    "BC5CDR": ("names, O elsewhere", "names", "names and phrases", "gold labels"),
    "Wikigold": (
        "O elsewhere",
        "distant labels",
        "distant labels, knowledge",
    ),
    "Spanish": ("majority", "Dawid-Skene", "distil", "gold labels"),
    "EWT": ("majority", "Dawid-Skene", "distil", "gold labels"),
    **dict.fromkeys(CROWDS, ("majority", "Dawid-Skene", "skweak", "aggregate")),
    "teacher": ("entities", "parts of speech"),
    "errors in Spanish": ("doubts", "cleanlab"),
    "errors in BC5CDR": ("doubts", "cleanlab"),
    "errors in EWT": ("doubts", "cleanlab"),
}
ONCE = ("teacher", "errors in Spanish", "errors in BC5CDR", "errors in EWT")  # measured with one seed


def main(*, quick: bool = False, tasks: Sequence[str] = ()) -> None:
    """tasks: measure only these data, and keep the other results."""
    title = "weak-quick" if quick else "weak"
    runs: dict[str, dict[str, Any]] = dict(kept_figures(title)) if tasks else {}
    for data in tasks or WAYS:
        seeds = range(1 if quick or data in ONCE else SEEDS)
        runs[data] = {
            way: measurements("benchmarks.weak", [{"data": data, "way": way, "seed": k} for k in seeds])
            for way in WAYS[data]
        }

    def rows(names: Sequence[str], cells: Callable[[list[dict[str, Any]]], list[str]]) -> list[list[str]]:
        return [
            [data, way, spread(found, "score", 2), *cells(found)]
            for data in names for way, found in runs.get(data, {}).items()
        ]  # fmt: skip

    def seconds(found: list[dict[str, Any]]) -> list[str]:
        return [f"{statistics.mean(run['seconds'] for run in found):.1f}"]

    def speeds(found: list[dict[str, Any]]) -> list[str]:
        slow, fast = (statistics.mean(run[name] for run in found) for name in ("teacher", "student"))
        return [f"{slow:,.0f}", f"{fast:,.0f}", f"{fast / slow:.0f}"]

    errors = [data for data in WAYS if data.startswith("errors in ")]
    learned = [data for data in WAYS if data not in (*errors, *CROWDS, "teacher")]
    tables = [
        (["data", "learned from", "F1 (EWT: accuracy)", "CPU s"], rows(learned, seconds)),
        (["annotators", "merged by", "F1 of the labels", "CPU s"], rows([*CROWDS], seconds)),
        (["", "labels", "agreement", "teacher, tokens/CPU s", "student", "ratio"], rows(["teacher"], speeds)),
        (["", "ranked by", "precision where half are found", "CPU s"], rows(errors, seconds)),
    ]
    publish(title, "\n\n".join(table(head, body) for head, body in tables if body), runs)
