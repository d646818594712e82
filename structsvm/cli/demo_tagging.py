"""The tagging part of `structsvm demo`: tag a text, then train a chunker on generated sentences."""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import textwrap
import time
from contextlib import closing
from pathlib import Path

from structsvm.cli.progress import Progress
from taggers import PosTagger, commands
from taggers.conlleval import phrases
from taggers.formats.tokenizer import split_sentences

TEXT = (
    "The old lighthouse keeper didn't sleep. Every evening she climbs 112 steps, lights the lamp and writes "
    "down what she sees: ships from Norway, two whales, sometimes nothing at all."
)

ENDINGS = {
    "noun": ("ness", "or", "tin", ""),
    "verb": ("ed", "es", "ates", ""),
    "adjective": ("ous", "ish", "al"),
}
SYLLABLES = ("ka", "lo", "mi", "ru", "ste", "vo", "bri", "fan", "del", "tor")
NOUN_PHRASES = (
    ("the", "noun"), ("the", "adjective", "noun"), ("name",), ("name", "name"), ("noun",), ("noun", "noun"),
)  # fmt: skip
SMALL = {"the": "the a this every", "to": "near with under without", "will": "will may can"}


def lexicon(rng: random.Random) -> dict[str, list[str]]:
    """Return words by kind. A bare stem may be a noun or a verb, so only the context can tell them apart."""
    stems = ["".join(rng.choices(SYLLABLES, k=rng.choice((2, 3)))) for _ in range(400)]
    words = {
        kind: [rng.choice(stems) + rng.choice(ends) for _ in range(500)] for kind, ends in ENDINGS.items()
    }
    words["name"] = [stem.title() for stem in stems[:80]]
    return words | {kind: text.split() for kind, text in SMALL.items()}


def sentence(rng: random.Random, words: dict[str, list[str]]) -> str:
    """Return a sentence as lines with a word and its chunk label."""

    def chunk(kind: str, *parts: str) -> str:
        return "".join(f"{rng.choice(words[p])} {'I' if k else 'B'}-{kind}\n" for k, p in enumerate(parts))

    def nouns() -> str:
        return chunk("NP", *rng.choice(NOUN_PHRASES))

    text = nouns() + chunk("VP", *rng.choice((("verb",), ("will", "verb")))) + nouns()
    for _ in range(rng.choice((0, 1, 1, 2))):
        text += chunk("PP", "to") + nouns()
    return text + ". O\n\n"


def heading(number: int, title: str, command: str) -> None:
    print(f"{number}. {title}\n   $ {command}\n")


def table(rows: list[list[str]], width: int) -> str:
    """Align rows word by word, and break them into pieces of at most `width`."""
    sizes = [max(map(len, column)) + 2 for column in zip(*rows, strict=True)]
    lines, start = [], 0
    while start < len(sizes):
        stop, used = start, 3
        while stop < len(sizes) and (stop == start or used + sizes[stop] <= width):
            used += sizes[stop]
            stop += 1
        for row in rows:
            cells = (text.ljust(size) for text, size in zip(row[start:stop], sizes[start:stop], strict=True))
            lines.append(("   " + "".join(cells)).rstrip())
        lines.append("")
        start = stop
    return "\n".join(lines)


def tag_text() -> None:
    """Tag a text with the included model."""
    heading(1, "Tag parts of speech with the included model", "structsvm tag en-pos text.txt")
    start = time.perf_counter()
    tagger = PosTagger.load("en-pos")
    sentences = [[token.text for token in tokens] for tokens in split_sentences(TEXT)]
    labels = tagger.predict(sentences)
    seconds = time.perf_counter() - start
    width = min(shutil.get_terminal_size().columns, 100)
    for words, names in zip(sentences, labels, strict=True):
        parts = [name.split("|") for name in names]
        print(table([words, [upos for upos, _ in parts], [xpos for _, xpos in parts]], width))
    n = sum(map(len, sentences))
    print(f"   Loaded the model and tagged {n} tokens in {1000 * seconds:.0f} ms.\n")


def train_chunker(seed: int) -> None:
    """Train a chunker on a file of 200 sentences and tag another of 500, as on the command line."""
    rng = random.Random(seed)
    words = lexicon(rng)
    heading(2, "Train a chunker on 200 sentences of invented words", "structsvm train chunk train.txt")
    with tempfile.TemporaryDirectory() as folder:
        train, test, model, output = (Path(folder, name) for name in ("train", "test", "model", "tagged"))
        train.write_text("".join(sentence(rng, words) for _ in range(200)), encoding="utf-8")
        test.write_text("".join(sentence(rng, words) for _ in range(500)), encoding="utf-8")
        start = time.perf_counter()
        with closing(Progress(shown=sys.stderr.isatty())) as progress:
            commands.train("chunk", train, model, random_state=seed, callback=progress)
        seconds = time.perf_counter() - start
        tokens = commands.tag(model, test, output)
        print(f"   Trained in {seconds:.1f} s. Scores on 500 other sentences ({tokens:,} words):\n")
        report = commands.evaluate(None, output).report()
        print("".join(f"   {line}\n" for line in report.splitlines()))
        lines = [line.split() for line in output.read_text(encoding="utf-8").split("\n\n")[0].splitlines()]
    found = [
        f"[{kind} {' '.join(line[0] for line in lines[first:end])}]"
        for kind, first, end in phrases([line[-1] for line in lines])
    ]
    print(textwrap.fill(" ".join(found), 90, initial_indent="   ", subsequent_indent="   ") + "\n")


def demo(*, seed: int = 0) -> None:
    """Tag a text, then train a chunker."""
    tag_text()
    train_chunker(seed)
