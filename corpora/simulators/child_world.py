"""Simulate a child's world: sentences with nested meanings, heard while other things happen.

After AmbigChild-World of Kate and Mooney (2007): a synchronous grammar makes a sentence and its meaning
together; a perceptual context is a small part of the grammar, so that meanings close in time are alike; the
candidates of a sentence are the meanings in a window around its own. Words, grammar and sizes are our own.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from corpora.bags import MOST_WRONG, NO_SYMBOL, Bag, meaning_text
from structsvm.validation import check_count

PEOPLE = {
    "mother": ("mommy", "mother"), "father": ("daddy", "father"), "mary": ("mary",), "john": ("john",),
    "daisy": ("daisy",), "woman": ("woman", "lady"), "man": ("man",), "boy": ("boy",), "girl": ("girl",),
}  # fmt: skip
ANIMALS = ("dog", "cat", "mouse", "bird", "cow", "horse", "duck", "rabbit")
THINGS = (
    "ball", "box", "toy", "bag", "clock", "hammer", "apple", "orange", "cookie", "bread", "milk", "book",
    "cup", "chair", "hat", "shoe", "doll", "key", "car", "bottle",
)  # fmt: skip
NO_ARTICLE = {"mommy", "daddy", "mary", "john", "daisy"}
# Present and past of each verb, by the arguments it takes after its subject.
ALONE = {
    "run": ("runs", "ran"), "walk": ("walks", "walked"), "sleep": ("sleeps", "slept"),
    "cry": ("cries", "cried"),
}  # fmt: skip
WITH_THING = {
    "eat": ("eats", "ate"), "break": ("breaks", "broke"), "throw": ("throws", "threw"),
    "hit": ("hits", "hit"), "wash": ("washes", "washed"), "find": ("finds", "found"),
}  # fmt: skip
WITH_RECIPIENT = {"give": ("gives", "gave"), "show": ("shows", "showed")}
WITH_CLAUSE = {"believe": ("believes", "believed"), "see": ("sees", "saw"), "say": ("says", "said")}
VERBS = ALONE | WITH_THING | WITH_RECIPIENT | WITH_CLAUSE
DEEPEST = 4  # relations in one meaning
DEEPER = 0.3  # the chance that the clause of a verb has a clause itself

PATIENCE = 100  # meanings that happened already before a context counts as exhausted

Words = list[tuple[str, str]]


class Context:
    """A few people, animals, things and verbs, and what can be said with them."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.animate = rng.sample(sorted(PEOPLE), 3) + rng.sample(ANIMALS, 2)
        self.people = self.animate[:3]
        self.things = rng.sample(THINGS, 5)
        self.verbs = rng.sample(sorted(VERBS), 5)
        while not set(self.verbs) - set(WITH_CLAUSE):
            self.verbs = rng.sample(sorted(VERBS), 5)
        self.plain = [verb for verb in self.verbs if verb not in WITH_CLAUSE]

    def sentence(self, depth: int = 1) -> tuple[Words, str]:
        """Words, each with the symbol it names, and the meaning."""
        rng = self.rng
        clauses = depth == 1 or (depth < DEEPEST and rng.random() < DEEPER)
        verb = rng.choice(self.verbs if clauses else self.plain)
        subject = rng.choice(self.people if verb in WITH_CLAUSE else self.animate)
        words = [*self.noun(subject), (rng.choice(VERBS[verb]), verb)]
        args = [subject]
        if verb in WITH_THING or verb in WITH_RECIPIENT:
            args.append(rng.choice(self.things))
            words += self.noun(args[-1])
        if verb in WITH_RECIPIENT:
            args.append(rng.choice([one for one in self.animate if one != subject]))
            words += [("to", NO_SYMBOL), *self.noun(args[-1])]
        if verb in WITH_CLAUSE:
            inner, inner_meaning = self.sentence(depth + 1)
            args.append(inner_meaning)
            words += [("that", NO_SYMBOL), *inner]
        return words, meaning_text(verb, args)

    def noun(self, symbol: str) -> Words:
        word = self.rng.choice(PEOPLE.get(symbol, (symbol,)))
        return ([] if word in NO_ARTICLE else [("the", NO_SYMBOL)]) + [(word, symbol)]


def simulate_child_world(n: int, *, level: int = 1, seed: int = 0) -> list[Bag]:
    """Simulate n sentences, each with its own meaning and those of its neighbours as candidates.

    The candidates are the meanings from a before to b after its own, with a and b uniform on 0 .. level. The
    right meaning is always included, so there are 1 + level on average. Between two sentences, 0 to `level`
    meanings happen that no sentence describes. A context lasts 10 to 20 sentences.
    """
    check_count(level=level, high=MOST_WRONG)
    rng = Random(f"child world {seed}")
    bags: list[Bag] = []
    while len(bags) < n:
        bags += _within(Context(rng), rng.randint(10, 20), level)
    return bags[:n]


def _within(context: Context, n: int, level: int) -> Iterator[Bag]:
    """The sentences of one context; no meaning happens twice, and where none is left another one follows."""
    rng = context.rng
    spoken: list[tuple[int, Words]] = []
    happened: dict[str, Words] = {}

    def happen() -> Words:
        nonlocal context
        tries = 0
        while True:
            words, mr = context.sentence()
            if mr not in happened:
                happened[mr] = words
                return words
            tries += 1
            if tries % PATIENCE == 0:
                context = Context(rng)

    for _ in range(level):
        happen()
    for _ in range(n):
        spoken.append((len(happened), happen()))
        for _ in range(rng.randint(0, level)):
            happen()
    for _ in range(level):
        happen()
    meanings = list(happened)
    for at, words in spoken:
        before, after = rng.randint(0, level), rng.randint(0, level)
        tokens, symbols = zip(*words, strict=True)
        window = tuple(meanings[at - before : at + after + 1])
        yield Bag(" ".join(tokens), window, (meanings[at],), symbols=symbols)
