"""The tagging part of `structsvm demo`: tag a text, find its names, train a chunker on made-up sentences."""

from __future__ import annotations

import random
import re
import shutil
import sys
import tempfile
import textwrap
import time
from contextlib import closing
from pathlib import Path

from structsvm.cli.progress import Progress
from taggers import NerTagger, commands
from taggers.conlleval import phrases
from taggers.formats.tokenizer import split_sentences
from taggers.pipeline import Pipeline

TEXT = (
    "Marie Curie was born in Warsaw and studied at the University of Paris. The old lighthouse keeper didn't "
    "sleep. Every evening she climbs 112 steps, lights the lamp and writes down what she sees: ships from "
    "Norway, two whales, sometimes nothing at all."
)

# Words of the sentences for the chunker. Only half of each line is in the training sentences.
WORDS = {
    "person": "teacher doctor farmer sailor painter captain baker neighbour student gardener visitor singer",
    "thing": "boat letter clock lamp chair piano ladder basket bicycle map window kite",
    "place": "harbour bridge station market castle garden museum village school mill kitchen library",
    "able": "young old tall famous careful tired quiet friendly clever brave busy polite",
    "wooden": "old small wooden heavy green broken large pretty new dusty blue simple",
    "did": "painted carried found bought sold cleaned moved borrowed dropped lost hid took",
    "do": "paint carry find buy sell clean move borrow drop lose hide take",
    "name": "Anna Otto Ines Noor Karl Maria Yusuf Lena Pablo Rosa Emil Clara",
}  # fmt: skip
ALWAYS = {
    "the": ("the", "a", "this", "another"),
    "will": ("will", "can", "may", "should"),
    "near": ("near", "behind", "outside", "beside"),
}
Lexicon = dict[str, list[str]]


def lexicon(rng: random.Random) -> tuple[Lexicon, Lexicon]:
    """Return the words by kind: those of the training sentences, and all."""
    every = {kind: text.split() for kind, text in WORDS.items()}
    half = {kind: rng.sample(words, len(words) // 2) for kind, words in every.items()}
    small = {kind: list(words) for kind, words in ALWAYS.items()}
    return half | small, every | small


def sentence(rng: random.Random, words: Lexicon) -> str:
    """Return a sentence as lines with a word and its chunk label."""
    lines: list[str] = []

    def chunk(kind: str, *parts: str) -> None:
        for k, part in enumerate(parts):
            word = rng.choice(words[part])
            if k and lines[-1].startswith("a ") and word[0] in "aeiou":
                lines[-1] = f"an {lines[-1][2:]}"
            lines.append(f"{word} {'I' if k else 'B'}-{kind}")

    def nouns(adjective: str, noun: str) -> None:
        chunk("NP", *rng.choice((("the", noun), ("the", adjective, noun))))

    if rng.random() < 0.3:
        chunk("NP", "name")
    else:
        nouns("able", "person")
    lines[0] = lines[0][0].upper() + lines[0][1:]
    chunk("VP", *rng.choice((("did",), ("will", "do"))))
    nouns("wooden", "thing")
    if rng.random() < 0.7:
        chunk("PP", "near")
        nouns("wooden", "place")
    return "\n".join([*lines, ". O"]) + "\n\n"


def heading(number: int, title: str, command: str) -> None:
    print(f"{number}. {title}\n   $ {command}\n")


def table(rows: list[list[str]], width: int) -> str:
    """Align rows word by word, and break them into pieces of about the same width, at most `width`."""
    sizes = [max(map(len, column)) + 2 for column in zip(*rows, strict=True)]
    width = min(width, 3 + sum(sizes) // (1 + sum(sizes) // (width - 3)) + max(sizes))
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


def bracketed(words: list[str], labels: list[str]) -> str:
    """Return a sentence as lines of text, with its phrases in brackets: [PER Marie Curie]."""
    shown, at = [], 0
    for kind, first, end in phrases(labels):
        shown += [*words[at:first], "\xa0".join([f"[{kind}", *words[first:end]]) + "]"]
        at = end
    text = re.sub(r" (n't|[.,:])", r"\1", " ".join(shown + words[at:]))
    lines = textwrap.fill(text, 90, initial_indent="   ", subsequent_indent="   ")
    return lines.replace("\xa0", " ")  # which kept the words of a phrase on one line


def tag_text() -> None:
    """Tag a text and find its names with the included models."""
    heading(1, "Tag parts of speech and find lemmas with an included model", "structsvm tag en text.txt")
    sentences = [[token.text for token in tokens] for tokens in split_sentences(TEXT)]
    start = time.perf_counter()
    model = Pipeline.load("en")
    loaded = time.perf_counter()
    found = model.predict(sentences)
    seconds = time.perf_counter() - loaded
    width = min(shutil.get_terminal_size().columns, 100)
    for words, tokens in zip(sentences, found, strict=True):
        print(table([words, *([token[name] for token in tokens] for name in ("upos", "lemma"))], width))
    n = sum(map(len, sentences))
    print(f"   Loaded the model in {1000 * (loaded - start):.0f} ms", end=" ")
    print(f"and tagged {n} tokens in {1000 * seconds:.0f} ms.\n")

    heading(2, "Find names with another one", "structsvm tag en-ner text.txt")
    for words, labels in zip(sentences, NerTagger.load("en-ner").predict(sentences), strict=True):
        print(bracketed(words, labels))
    print("\n   It misses some names: taggers/models/en-ner.md says how many.\n")


def train_chunker(seed: int) -> None:
    """Train a chunker on a file of 200 sentences and tag another of 500, as on the command line."""
    rng = random.Random(seed)
    half, every = lexicon(rng)
    heading(3, "Train a chunker on 200 simple sentences", "structsvm train chunk train.txt")
    with tempfile.TemporaryDirectory() as folder:
        train, test, model, output = (Path(folder, name) for name in ("train", "test", "model", "tagged"))
        train.write_text("".join(sentence(rng, half) for _ in range(200)), encoding="utf-8")
        test.write_text("".join(sentence(rng, every) for _ in range(500)), encoding="utf-8")
        start = time.perf_counter()
        with closing(Progress(shown=sys.stderr.isatty())) as progress:
            commands.train("chunk", train, model, random_state=seed, callback=progress)
        seconds = time.perf_counter() - start
        tokens = commands.tag(model, test, output)
        print(f"   Trained in {1000 * seconds:.0f} ms. Scores on 500 other sentences ({tokens:,} words)")
        print("   with twice as many different words:\n")
        report = commands.evaluate(None, output).report()
        print("".join(f"   {line}\n" for line in report.splitlines()))
        tagged = output.read_text(encoding="utf-8").split("\n\n")[:2]
    for rows in ([line.split() for line in one.splitlines()] for one in tagged):
        print(bracketed([row[0] for row in rows], [row[-1] for row in rows]))
    print()


def demo(*, seed: int = 0) -> None:
    """Tag a text, find its names, then train a chunker."""
    tag_text()
    train_chunker(seed)
