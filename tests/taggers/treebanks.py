"""Artificial treebanks of scripts that separate words in other ways than English does.

Words consist of random syllables, their frequencies follow Zipf's law, and each class of words has its
successors. Every kind can be built from another alphabet, with other lengths and other joins.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass
class Language:
    """Four classes of words; after each class, two others may follow."""

    words: list[list[str]]

    @classmethod
    def of(cls, seed: int, alphabet: str, syllables: tuple[int, int], between: str = "") -> Language:
        draw, half = random.Random(seed), len(alphabet) // 2
        parts = [first + last for first in alphabet[:half] for last in alphabet[half:]]
        made: dict[str, None] = {}
        while len(made) < 240:
            made[between.join(draw.choice(parts) for _ in range(draw.randint(*syllables)))] = None
        return cls([list(made)[k::4] for k in range(4)])

    def sentence(self, draw: random.Random) -> list[str]:
        kind, found = draw.randrange(4), []
        for _ in range(draw.randint(4, 9)):
            words = self.words[kind]
            found += draw.choices(words, [1 / (k + 2) for k in range(len(words))])
            kind = (kind + draw.choice([1, 2])) % 4
        return found


Token = tuple[str, list[str]]  # as written, and its words if it has several
Make = Callable[[random.Random, Language], list[Token]]


def plain(draw: random.Random, language: Language) -> list[Token]:
    return [(word, []) for word in language.sentence(draw)]


def with_clitics(before: Sequence[str], after: Sequence[str], hidden: str = "") -> Make:
    """Up to two prefixes and one suffix join a word, whose last letter changes before the suffix.

    hidden: a word that follows each last prefix but is not written.
    """

    def make(draw: random.Random, language: Language) -> list[Token]:
        found: list[Token] = []
        for word in language.sentence(draw):
            words, written = [word], word
            if draw.random() < 0.2:
                suffix = draw.choice(after)
                words, written = [word, suffix], word[:-1] + "y" + suffix[1:]
            prefixes = [draw.choice(before) for _ in range(draw.choice([0, 0, 1, 2]))]
            words = [*prefixes, *[hidden] * bool(hidden and prefixes), *words]
            found.append(("".join(prefixes) + written, words if len(words) > 1 else []))
        return found

    return make


def treebank(
    language: Language,
    n: int,
    seed: int,
    *,
    make: Make = plain,
    between: str = "",
    mark: str = "",
    after: str = "",
    documents: int = 0,
) -> str:
    """A CoNLL-U file.

    between: what stands between tokens. mark: the last token of each sentence. after: what follows a
    sentence. documents: the number of sentences in a document.
    """
    draw, lines = random.Random(seed), []
    for number in range(n):
        tokens = make(draw, language) + [(mark, [])] * bool(mark)
        lines += [f"# newdoc id = {number}"] * (documents > 0 and number % max(documents, 1) == 0)
        k = 1
        for place, (form, words) in enumerate(tokens, 1):
            misc = "_" if (after if place == len(tokens) else between) else "SpaceAfter=No"
            if words:
                lines.append(f"{k}-{k + len(words) - 1}\t{form}" + "\t_" * 7 + f"\t{misc}")
                misc = "_"
            for word in words or [form]:
                lines.append(f"{k}\t{word}\t_\tX" + "\t_" * 5 + f"\t{misc}")
                k += 1
        lines.append("")
    return "\n".join(lines) + "\n"
