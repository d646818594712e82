"""Learn from an endless stream with new words and labels: memory and speed, with and without bounds.

The sentences are simulated. The ending of a word determines its label, except for some noise. A tenth of the
words are new, and new labels appear until there are 40. `partial_fit` and spaCy's `nlp.update` learn batches
of ten sentences and label each batch before they learn it. spaCy keeps every word unless a memory zone ends,
so each batch of a bounded stream has its own zone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import child, figure, measurements, publish, table
from structsvm.problems.sequence.problem import LANES

MODULE = "benchmarks.streams"
BOUNDS = {"max_features": 50_000, "max_support": 1_000}
BATCH, LENGTH, NEW, NOISE = 10, 12, 0.1, 0.05
FIRST_LABELS, SENTENCES_PER_LABEL, MOST_LABELS = 12, 50, 40
POINTS = 20
NAMES = {"no": "unbounded", "yes": "bounded"}
COPIES = 3  # of the weights: there is one, and all the rest takes less than two more

Batch = tuple[list[list[str]], list[list[str]]]


def main(*, quick: bool = False) -> None:
    """Publish a table and two drawings."""
    sizes = {"no": 1_000, "yes": 2_000} if quick else {"no": 8_000, "yes": 100_000}
    kinds = [(way, bounded) for way in ("partial_fit", "nlp.update") for bounded in sizes]
    found = measurements(
        MODULE, [{"way": way, "bounded": bounded, "n": sizes[bounded]} for way, bounded in kinds]
    )
    rows = []
    for (way, bounded), run in zip(kinds, found, strict=True):
        first, last = run["points"][1], run["points"][-1]
        rows.append([
            way, bounded, f"{last['sentences']:,}",
            *[f"{p['mb']:.0f}" for p in (first, last)],
            *[f"{p['speed']:.0f}" for p in (first, last)], f"{100 * last['right']:.1f}",
            f"{last['features']:,}", f"{last['patterns']:,}",
            "" if bounded == "no" else f"{run['bound']:.0f}", f"{max(p['mb'] for p in run['points']):.0f}",
        ])  # fmt: skip
    for name, y, key in (("streams-memory", "MB", "mb"), ("streams-speed", "sentences per second", "speed")):
        with figure(f"{name}{'-quick' if quick else ''}", "sentences", y) as axes:
            for (way, bounded), run in zip(kinds, found, strict=True):
                points = run["points"][1:]
                label = f"{way}, {NAMES[bounded]}"
                axes.plot([p["sentences"] for p in points], [p[key] for p in points], label=label)
            axes.set_xscale("log")
            axes.set_ylim(bottom=0)
            axes.legend()
    header = [
        "way", "bounded", "sentences", "MB at 10%", "MB at the end", "sentences/s at 10%", "at the end",
        "% right at the end", "features", "support patterns", "stated bound, MB", "most MB",
    ]  # fmt: skip
    text = (
        f"Sentences of {LENGTH} tokens, {BATCH} at a time; {100 * NEW:.0f}% of the words are new, "
        f"{100 * NOISE:.0f}% of the labels are noise, and every {SENTENCES_PER_LABEL:,} sentences there is a "
        f"new label, up to {MOST_LABELS}. Bounded: "
        f"max_features={BOUNDS['max_features']:,}, max_support={BOUNDS['max_support']:,}. "
        "Seconds are those of one core, and include labelling each batch before it is learned. "
        "The stated bound is the memory before the stream and "
        f"{COPIES} x 8 bytes x max_features x labels, where the labels are rounded up to a multiple of "
        f"{LANES}.\n\n" + table(header, rows)
    )
    publish(f"streams{'-quick' if quick else ''}", text, found)


def measure(way: str, bounded: str, n: int) -> dict[str, Any]:
    """Memory, speed and accuracy along a stream."""
    options = {"template": "label", **({} if bounded == "no" else BOUNDS)}
    steps = _partial_fit(options, n) if way == "partial_fit" else _nlp_update(options, n)
    bound = 0.0
    points, done, right, tokens, begun = [], 0, 0, 0, time.process_time()
    for tagger, correct in steps:
        bound = bound or _memory() + COPIES * weight_bytes(BOUNDS["max_features"], MOST_LABELS) / 1e6
        done, right, tokens = done + BATCH, right + correct, tokens + BATCH * LENGTH
        if done % (n // POINTS) < BATCH:
            seconds = time.process_time() - begun
            points.append({
                "sentences": done, "mb": _memory(), "speed": tokens / LENGTH / seconds,
                "right": right / tokens, "features": len(tagger.model_.space),
                "patterns": tagger.optimizer_.n_support_patterns_,
            })  # fmt: skip
            right, tokens, begun = 0, 0, time.process_time()
    return {"points": points, "bound": bound}


def _partial_fit(options: dict[str, Any], n: int) -> Iterator[tuple[Any, int]]:
    from taggers import SequenceTagger
    from taggers.formats._columns import Columns

    tagger = SequenceTagger(**options)
    for number, (X, Y) in enumerate(stream(n)):
        correct = 0
        if number:
            ids, names = tagger.tag_with_names(Columns.from_sentences(X))
            gold = [label for labels in Y for label in labels]
            correct = sum(names[k] == label for k, label in zip(ids.tolist(), gold, strict=True))
        tagger.partial_fit(X, Y)
        yield tagger, correct


def _nlp_update(options: dict[str, Any], n: int) -> Iterator[tuple[Any, int]]:
    import spacy
    from spacy.tokens import Doc
    from spacy.training import Example

    nlp = spacy.blank("en")
    pipe: Any = nlp.add_pipe("structsvm_tagger", config={"options": options})
    pipe.add_label("L0")
    for X, Y in stream(n):
        with nlp.memory_zone() if "max_features" in options else nullcontext():
            docs = [Doc(nlp.vocab, words=words) for words in X]
            tagged = list(nlp.pipe([doc.copy() for doc in docs]))
            correct = sum(
                token.tag_ == label
                for doc, labels in zip(tagged, Y, strict=True)
                for token, label in zip(doc, labels, strict=True)
            )
            pairs = zip(docs, X, Y, strict=True)
            nlp.update(
                [Example.from_dict(doc, {"words": words, "tags": labels}) for doc, words, labels in pairs]
            )
            del docs, tagged, pairs
        yield pipe.model, correct


def stream(n: int) -> Iterator[Batch]:
    """Batches of sentences with their labels."""
    rng = np.random.default_rng(0)
    fresh = 0
    for start in range(0, n, BATCH):
        n_labels = min(FIRST_LABELS + start // SENTENCES_PER_LABEL, MOST_LABELS)
        X: list[list[str]] = []
        Y: list[list[str]] = []
        for _ in range(BATCH):
            labels = rng.integers(0, n_labels, LENGTH)
            words = []
            for label in labels.tolist():
                stem = f"s{int(rng.zipf(1.5)) % 20_000}"
                if rng.random() < NEW:
                    stem, fresh = f"n{fresh}", fresh + 1
                ending = int(rng.integers(n_labels)) if rng.random() < NOISE else label
                words.append(f"{stem}-{ending:02d}")
            X.append(words)
            Y.append([f"L{label}" for label in labels.tolist()])
        yield X, Y


def weight_bytes(n_features: int, n_labels: int) -> int:
    """The memory of one copy of the weights of features, whose rows are padded."""
    return 8 * n_features * -(-n_labels // LANES) * LANES


def _memory() -> float:
    """The memory that this process has now, in MB."""
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * 4096 / 1e6


if __name__ == "__main__":
    child(measure)
