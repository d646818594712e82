"""What `structsvm demo` shows of tagging: a file of made-up sentences, learned, tagged and scored."""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path

from taggers import commands
from taggers.conlleval import phrases

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
    """Words by kind; a bare stem may be a noun as well as a verb, so that only the context tells."""
    stems = ["".join(rng.choices(SYLLABLES, k=rng.choice((2, 3)))) for _ in range(400)]
    words = {
        kind: [rng.choice(stems) + rng.choice(ends) for _ in range(500)] for kind, ends in ENDINGS.items()
    }
    words["name"] = [stem.title() for stem in stems[:80]]
    return words | {kind: text.split() for kind, text in SMALL.items()}


def sentence(rng: random.Random, words: dict[str, list[str]]) -> str:
    """A sentence as lines of a word and its chunk."""

    def chunk(kind: str, *parts: str) -> str:
        return "".join(f"{rng.choice(words[p])} {'I' if k else 'B'}-{kind}\n" for k, p in enumerate(parts))

    def nouns() -> str:
        return chunk("NP", *rng.choice(NOUN_PHRASES))

    text = nouns() + chunk("VP", *rng.choice((("verb",), ("will", "verb")))) + nouns()
    for _ in range(rng.choice((0, 1, 1, 2))):
        text += chunk("PP", "to") + nouns()
    return text + ". O\n\n"


def demo(*, seed: int = 0) -> None:
    """Train a chunker on a file of 200 sentences and tag another of 500, as on the command line."""
    rng = random.Random(seed)
    words = lexicon(rng)
    with tempfile.TemporaryDirectory() as folder:
        train, test, model, output = (Path(folder, name) for name in ("train", "test", "model", "tagged"))
        train.write_text("".join(sentence(rng, words) for _ in range(200)), encoding="utf-8")
        test.write_text("".join(sentence(rng, words) for _ in range(500)), encoding="utf-8")
        print(
            "200 sentences of invented words, the phrases in them marked: structsvm train chunk train.txt\n"
        )
        start = time.perf_counter()
        commands.train("chunk", train, model, random_state=seed)
        seconds = time.perf_counter() - start
        tokens = commands.tag(model, test, output)
        print(
            f"Learned in {seconds:.2f} s. Phrases found in {tokens} words of 500 others: structsvm evaluate\n"
        )
        print(commands.evaluate(None, output).report())
        lines = [line.split() for line in output.read_text(encoding="utf-8").split("\n\n")[0].splitlines()]
    for kind, start_at, end in phrases([line[-1] for line in lines]):
        print(f"    {kind:4}{' '.join(line[0] for line in lines[start_at:end])}")
    print()
