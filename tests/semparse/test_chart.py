"""The chart against an enumeration of all meanings and all ways to say them, on short sentences."""

import itertools
import random
import signal

import numpy as np
import pytest

from semparse.latent._chart import Chart
from semparse.latent._scores import CHANNELS, Layout, Scores, Sentence
from semparse.latent._units import Units

RELATIONS, ROLES, CONSTANTS, ROWS, NULL, AND = 5, 4, 3, 6, 0, 1
WRAPS = 5
# Of each relation: its role columns. r2(slot 0: constant or r3), r3(slot 0, slot 1), r4().
SLOTS = {2: [0], 3: [1, 2], 4: []}
ARCS = {0: [3, 4], 1: [2], 2: []}
SILENT = {0: [2], 1: [], 2: [1]}
MEANING = [101, 102, 103]


class World:
    """Random features and weights of a sentence of n words."""

    def __init__(self, n, seed, nested=True, silent=True, mute=()):
        rng = random.Random(seed)
        self.mute = mute  # relations without own words
        self.n, self.arcs = n, ARCS if nested else {}
        self.silent = SILENT if silent else {}
        self.rows = {
            name: [rng.sample(range(ROWS), rng.randint(0, 2)) for _ in range(n + 1)] for name in CHANNELS
        }
        self.lexical = [
            (i, j, c, c, MEANING[c], rng.uniform(-0.5, 0.5), [rng.randrange(ROWS)])
            for i in range(n)
            for j in (i + 1, i + 2)
            for c in range(CONSTANTS)
            if j <= n and rng.random() < 0.4
        ]
        self.priors = [(rng.randrange(n), 2 + rng.randrange(3), rng.uniform(0, 1)) for _ in range(2)]
        shapes = {"relations": RELATIONS, "roles": ROLES, "constants": CONSTANTS, "unused": 1, "nesting": 8}
        generator = np.random.default_rng(seed)
        self.w = {name: generator.normal(size=(ROWS, width)) for name, width in shapes.items()}
        self.allowed = np.array([[1, 1, 1], [1, 1, 0], [0, 1, 1], [0, 0, 0]], np.uint8)
        self.nest_row, self.state_row = [0, 1, 2, 3, 4], [0, 1, 2, 3]
        layout = Layout(
            self.nest_row, [-1, -1, 0, 1, 2], [3, 4, 5], self.state_row, 0, 1, self.allowed, MEANING
        )
        sentence = Sentence(n, self.rows, self.lexical, self.priors)
        self.scores = Scores(sentence, layout, RELATIONS, ROLES, *(self.w[name] for name in shapes))

    def search(self):
        number = {2: 0, 3: 1, 4: 2}
        units = [
            (rel, len(slots) - (rel == 3), rel in self.mute, [
                (role, -1, [number[r] for r in self.arcs.get(role, [])], self.silent.get(role, []), 0)
                for role in slots
            ])
            for rel, slots in SLOTS.items()
        ]  # fmt: skip
        return Units(units, [0, 1, 2], False)

    # -- the naive twin: all ways that a unit covers a span, as (score, meaning) ------------------

    def sums(self, table, rows, column):
        return sum(self.w[table][row, column] for row in rows)

    def nest(self, role, column):
        return self.w["nesting"][self.nest_row[role], column]

    def covers(self, rel, i, j, depth=WRAPS):
        """All (score, meaning) of a unit over a span; depth: how many may still share the span below it."""
        own = [("own", k) for k in range(i, j)]
        found = []
        for parts in self.splits(rel, i, j, own, depth):
            if rel in self.mute and any(part[0] == "own" for part in parts):
                continue
            found += self.ways(rel, i, j, parts, depth)
        return found

    def splits(self, rel, i, j, own, depth):
        """All sequences of own words and arguments ("arg", slot, a, b) that cover a span."""
        slots = range(len(SLOTS[rel]))
        for order in itertools.chain.from_iterable(
            itertools.permutations(slots, k) for k in range(len(slots) + 1)
        ):
            for bounds in itertools.combinations_with_replacement(range(i, j + 1), 2 * len(order)):
                spans = list(zip(bounds[::2], bounds[1::2], strict=True))
                if all(a < b for a, b in spans):
                    taken = {k for a, b in spans for k in range(a, b)}
                    parts = [("arg", slot, a, b) for slot, (a, b) in zip(order, spans, strict=True)]
                    parts += [(name, k) for name, k in own if k not in taken]
                    yield sorted(parts, key=lambda part: part[2] if part[0] == "arg" else part[1])

    def ways(self, rel, i, j, parts, depth):
        """Add up the terms of a sequence, for every choice of arguments and of constants without words."""
        if not parts:
            return []
        score = self.w["relations"][0, rel]
        score += sum(self.sums("relations", self.rows["word"][k], rel) for k in range(i, j))
        low, high = (0 if i == 0 else i + 1), (self.n + 1 if j == self.n else j)
        score += sum(self.sums("relations", self.rows["pair"][k], rel) for k in range(low, high))
        has_own = args = False
        choices = []
        for part in parts:
            if part[0] == "own":
                k = part[1]
                score += self.sums("relations", self.rows["later" if args else "first"][k], rel)
                score += self.sums("unused", self.rows["unused"][k], 0)
                score += sum(amount for at, r, amount in self.priors if (at, r) == (k, rel))
                has_own = True
            else:
                _, slot, a, b = part
                role = SLOTS[rel][slot]
                score += self.sums("roles", self.rows["left"][a], role) + self.sums(
                    "roles", self.rows["right"][b], role
                )
                score += self.w["roles"][self.state_row[2 * has_own + args], role]
                choices.append([(slot, s, m) for s, m in self.fillers(role, a, b, (a, b) == (i, j), depth)])
                args = True
        score += 0 if has_own else self.w["relations"][1, rel]
        said = {part[1] for part in parts if part[0] == "arg"}
        least = len(SLOTS[rel]) - (rel == 3)
        found = []
        for n_args in range(max([least, *(slot + 1 for slot in said)]), len(SLOTS[rel]) + 1):
            missing = [
                [
                    (slot, self.nest(SLOTS[rel][slot], 3 + c), ("c", c))
                    for c in self.silent.get(SLOTS[rel][slot], [])
                ]
                for slot in range(n_args)
                if slot not in said
            ]
            for chosen in itertools.product(*choices, *missing):
                args_of = tuple(m for _, _, m in sorted(chosen))
                found.append((score + sum(s for _, s, _ in chosen), (rel, *args_of)))
        return found

    def fillers(self, role, a, b, same, depth):
        for start, end, c, _, _, prior, rows in self.lexical if depth or not same else ():
            if (start, end) == (a, b) and self.allowed[role, c]:
                yield prior + self.sums("constants", rows, c), ("c", c)
        if depth or not same:
            for child in self.arcs.get(role, []):
                for score, meaning in self.covers(child, a, b, depth - 1 if same else WRAPS):
                    yield score + self.nest(role, child - 2), meaning

    def all_meanings(self, clauses):
        """The best score of every meaning of the sentence; a meaning is a sorted tuple of units."""
        best = {(): self.w["relations"][0, NULL]}
        best[()] += sum(self.sums("relations", self.rows["word"][k], NULL) for k in range(self.n))
        best[()] += sum(self.sums("relations", self.rows["pair"][k], NULL) for k in range(self.n + 1))
        best[()] += sum(self.sums("unused", self.rows["unused"][k], 0) for k in range(self.n))
        for parts in range(1, clauses + 1):
            for cuts in itertools.combinations(range(1, self.n), parts - 1):
                edges = [0, *cuts, self.n]
                joined = sum(self.sums("relations", self.rows["and"][k], AND) for k in cuts)
                clause = [
                    [
                        (s + self.w["nesting"][4, rel - 2], m)
                        for rel in SLOTS
                        for s, m in self.covers(rel, a, b)
                    ]
                    for a, b in itertools.pairwise(edges)
                ]
                for chosen in itertools.product(*clause):
                    meaning = tuple(sorted((m for _, m in chosen), key=repr))
                    score = joined + sum(s for s, _ in chosen)
                    best[meaning] = max(best.get(meaning, -np.inf), score)
        return best


def exactly(world, units):
    """The grammar of given meanings, as the enumeration writes them."""
    found, roots = [], []

    def add(unit):
        place = len(found)
        found.append(None)
        slots = []
        for role, arg in zip(SLOTS[unit[0]], unit[1:], strict=False):
            if arg[0] == "c":
                slots.append(
                    (role, -1, [], [arg[1]] * (arg[1] in world.silent.get(role, [])), MEANING[arg[1]])
                )
            else:
                slots.append((role, -1, [len(found)], [], 0))
                add(arg)
        found[place] = unit[0], len(slots), unit[0] in world.mute, slots

    for unit in units:
        roots.append(len(found))
        add(unit)
    return Units(found, roots, True)


@pytest.mark.parametrize(
    ("n", "nested", "silent", "clauses"),
    [(3, False, False, 1), (3, False, True, 2), (2, True, True, 1), (3, True, False, 1), (3, True, False, 2)],
)
@pytest.mark.parametrize("seed", range(3))
def test_the_k_best_meanings_are_those_of_an_enumeration(n, nested, silent, clauses, seed):
    world = World(n, seed, nested, silent)
    wanted = sorted(world.all_meanings(clauses).values(), reverse=True)
    for k in (1, 2, 5):
        found = [score for score, _, _ in Chart(world.scores, world.search(), k, clauses, True).best]
        assert found == pytest.approx(wanted[:k])


@pytest.mark.parametrize(("n", "silent", "clauses"), [(2, True, 2), (3, False, 2), (3, False, 1)])
def test_an_alignment_is_the_best_way_to_say_one_meaning(n, silent, clauses):
    world = World(n, n, silent=silent)
    best = world.all_meanings(clauses)
    for meaning in random.Random(n).sample(sorted(best, key=repr), min(20, len(best))):
        if meaning:
            chart = Chart(world.scores, exactly(world, meaning), 1, 1, False)
            assert chart.best[0][0] == pytest.approx(best[meaning])


@pytest.mark.parametrize("mute", [(2,), (3, 4)])
def test_relations_without_own_words_leave_them_to_others(mute):
    world = World(3, 5, mute=mute)
    wanted = world.all_meanings(1)
    found = Chart(world.scores, world.search(), 5, 1, True).best
    assert [score for score, _, _ in found] == pytest.approx(sorted(wanted.values(), reverse=True)[:5])
    assert wanted.keys() != World(3, 5).all_meanings(1).keys()


@pytest.mark.parametrize("seed", range(20))
def test_the_terms_of_a_score_add_up_and_no_alignment_beats_the_search(seed):
    world = World(9, seed, nested=seed % 2 == 0, silent=seed % 3 > 0, mute=(4,) * (seed % 5 == 0))
    clauses = 1 + seed % 3
    chart = Chart(world.scores, world.search(), 4, clauses, True)
    assert [score for score, _, _ in chart.best] == sorted((s for s, _, _ in chart.best), reverse=True)
    assert len({meaning for _, meaning, _ in chart.best}) == len(chart.best)
    for score, meaning, node in chart.best:
        total = sum(world.w[table][row, column] for table, row, column in chart.features(node))
        assert total + chart.prior(node) == pytest.approx(score)
        if meaning:
            units = [as_unit(world, tree) for tree in chart.trees(node)]
            aligned = Chart(world.scores, exactly(world, units), 1, 1, False).best[0]
            assert aligned[1] == meaning  # the same meaning, said in the best way
            assert aligned[0] == pytest.approx(score)


def as_unit(world, tree):
    if tree[0] == "word":
        return "c", world.lexical[tree[1]][2]
    if tree[0] == "silent":
        return "c", tree[1]
    return (tree[0], *(as_unit(world, arg) for arg in tree[4]))


class Interrupted(Exception):
    pass


def test_a_long_chart_can_be_interrupted():
    """Without a look at signals, the chart would be complete before its caller sees the exception."""

    def interrupt(*_):
        raise Interrupted

    world = World(60, 0)
    chart = Chart.__new__(Chart)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.002)
        with pytest.raises(Interrupted):
            chart.__init__(world.scores, world.search(), 30, 1, True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert chart.best is None


def test_a_unit_of_many_slots_copies_arguments():
    """Seven slots: the fourth and the last two repeat the first, and three words name the other constants."""
    allowed = np.ones((7, CONSTANTS), np.uint8)
    layout = Layout([-1] * 8, [-1] * 3, [-1] * CONSTANTS, [-1] * 4, -1, -1, allowed, MEANING)
    words = [(i, i + 1, i % 3, i % 3, MEANING[i % 3], 0.0, []) for i in range(4)]
    sentence = Sentence(4, {name: [[]] * 5 for name in CHANNELS}, words, [])
    none = np.zeros((1, 7))
    scores = Scores(sentence, layout, 3, 7, none, none, none, none, none)
    slots = [(role, {3: 0, 5: 0, 6: 0}.get(role, -1), [], [], 0) for role in range(7)]
    chart = Chart(scores, Units([(2, 7, False, slots)], [0], False), 1, 1, False)
    ((_, meaning, node),) = chart.best
    ((_, _, _, own, args),) = chart.trees(node)
    assert not own
    assert [number for _, number in args] == [0, 1, 2, 0, 3, 0, 0]
    exact = [(role, copy, [], [], MEANING[args[role][1] % 3]) for role, copy, _, _, _ in slots]
    assert Chart(scores, Units([(2, 7, False, exact)], [0], True), 1, 1, False).best[0][1] == meaning
