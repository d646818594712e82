"""OSPAS as in section 6.2 of Bordes' thesis: label words with symbols, then with roles, then build the MRs.

Both labellings are learned by Algorithm 24 from the bag of all symbols, or (symbol, role) pairs, of all
candidates. If the thesis leaves a step open, an option of `ThesisParser` chooses it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from semparse._bags import STRATEGIES, BagLearner
from semparse.meaning import MR, distinct
from semparse.parse import EMPTY, Match, Node, Parse
from semparse.schema import Schema, SchemaLearner
from structsvm.files.codec import FLOAT_MAX, Array, Field, Table, names, whole
from structsvm.validation import LARGEST_COUNT

WINDOW = 3
LARGEST_WEIGHT = 1e30  # products of weights stay finite
FIELDS = Table(
    Field("symbols", names(least=1), "the symbols; the first stands for none"),
    Field("words", names(least=1), "the words"),
    Field("features", names(), "the features of roles"),
    Field("n_roles", whole(), "the number of roles"),
    *(
        Field(f"{name}.{part}", kind, f"{meaning} of the model of {name}")
        for name, shape in (("symbols", ("words", "symbols")), ("roles", ("features", "roles")))
        for part, kind, meaning in (
            ("w", Array(np.float64, *shape, high=LARGEST_WEIGHT), "the weights"),
            ("drift", Array(np.float64, *shape, high=FLOAT_MAX), "the sums of changes times steps"),
            ("counts", Array(np.int64, 2, low=0, high=LARGEST_COUNT), "the steps and the number of labels"),
            ("rng", Array(np.uint64, 1), "the state of the random numbers"),
        )
    ),
)


class ThesisParser:
    """The two models and what they know of words and symbols.

    empties: the number of empty labels that complete a bag for a sentence of n words: n minus the size of the
    smallest candidate ("min"), of the largest ("max") or of all together ("total"). average: predict with the
    mean of all weights so far, not with the last ones.
    """

    threshold = 0.0

    def __init__(self, *, C: float, seed: int, strategy: str, empties: str, average: bool) -> None:
        self.strategy, self.empties, self.average = STRATEGIES[strategy], empties, average
        self.symbol_learner = BagLearner(C, seed)
        self.role_learner = BagLearner(C, seed + 1)
        self.symbols: dict[str, int] = {EMPTY: 0}
        self.words: dict[str, int] = {}
        self.features: dict[str, int] = {}
        self.n_roles = 1
        self.schemas = SchemaLearner()
        self.given: Schema | None = None

    @property
    def schema(self) -> Schema:
        return self.given or self.schemas.schema()

    def fit(
        self,
        X: Sequence[list[str]],
        bags: Sequence[list[MR]],
        passes: int,
        rng: np.random.Generator,
        progress: Callable[[int, int], Any],
    ) -> None:
        """Pass over sentences and their candidates, in random order."""
        for bag in bags:  # all labels compete from the start
            self._meet(bag, [])
        order = [i for _ in range(passes) for i in rng.permutation(len(X))]
        for done, i in enumerate(order, 1):
            self.learn(X[i], bags[i], rng)
            progress(done, len(order))

    def _meet(self, bag: list[MR], x: list[str]) -> None:
        """Number new symbols and words, after making room for them: training may be interrupted anywhere."""
        symbols = [symbol for mr in bag for symbol in mr.symbols()]
        self.symbol_learner.grow(_size_with(self.words, x), _size_with(self.symbols, symbols))
        for symbol in symbols:
            self.symbols.setdefault(symbol, len(self.symbols))
        for word in x:
            self.words.setdefault(word, len(self.words))
        for mr in bag:
            self.schemas.see(mr)
            for inner in mr.relations():
                self.n_roles = max(self.n_roles, 1 + len(inner.args))

    def learn(self, x: list[str], candidates: list[MR], rng: np.random.Generator | None = None) -> None:
        """One sentence: Algorithm 24 for its symbols, then for the roles around each relation found."""
        candidates = distinct(candidates)
        self._meet(candidates, x)
        ids = np.array([self.words[word] for word in x], np.int32)
        bag = np.zeros((1, len(self.symbols)), np.int32)
        for mr in candidates:
            for symbol in mr.symbols():
                bag[0, self.symbols[symbol]] += 1
        bag[0, 0] = self._n_empty(len(x), [len(mr.symbols()) for mr in candidates])
        ptr, groups = np.arange(len(x) + 1, dtype=np.int64), np.zeros(len(x), np.int32)
        labels = self.symbol_learner.label(ids, ptr, groups, bag, self.strategy, False)
        names = list(self.symbols)
        accepted = [EMPTY if label < 0 else names[label] for label in labels]
        for place, symbol in enumerate(accepted):
            if symbol in self.schema.relations:
                self._learn_roles(x, accepted, place, candidates)

    def _scores(self, x: list[str]) -> list[np.ndarray]:
        """Of each word the scores of all symbols; an unknown word has none but the empty one."""
        rows = [np.array([self.words[word]] if word in self.words else [], np.int32) for word in x]
        return [self.symbol_learner.scores(row, self.average) for row in rows]

    def _n_empty(self, n: int, sizes: list[int]) -> int:
        size = min(sizes) if self.empties == "min" else max(sizes) if self.empties == "max" else sum(sizes)
        return max(0, n - size)

    def _learn_roles(self, x: list[str], symbols: list[str], rel: int, candidates: list[MR]) -> None:
        pairs: Counter[tuple[str, int]] = Counter()
        for mr in candidates:
            for inner in mr.relations():
                if inner.rel == symbols[rel]:
                    for k, arg in enumerate(inner.args, 1):
                        pairs[arg.rel if isinstance(arg, MR) else arg, k] += 1
        places = [i for i, symbol in enumerate(symbols) if i != rel and symbol != EMPTY]
        if not places or not pairs:
            return
        kinds = {symbol: g for g, symbol in enumerate(dict.fromkeys(symbols[i] for i in places))}
        bag = np.zeros((len(kinds), self.n_roles), np.int32)
        for (symbol, k), count in pairs.items():
            if symbol in kinds:
                bag[kinds[symbol], k] = count
        rows = [self._role_features(x, symbols, rel, i, grow=True) for i in places]
        ptr = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        groups = np.array([kinds[symbols[i]] for i in places], np.int32)
        self.role_learner.label(np.concatenate(rows), ptr, groups, bag, self.strategy, True)

    def _role_features(self, x: list[str], symbols: list[str], rel: int, i: int, *, grow: bool) -> np.ndarray:
        """The window around word i, and how it lies to the relation's word and to the other arguments."""
        relation = symbols[rel]
        others = [j for j, symbol in enumerate(symbols) if symbol != EMPTY and j != rel]
        side = "before" if i < rel else "after"
        order = others.index(i)
        names = [relation, side, f"{side} {abs(i - rel)}", f"order {order}", f"{relation} {side}"]
        names += [
            f"{relation} order {order}",
            f"{relation} {side} {sum(min(i, rel) < j < max(i, rel) for j in others)}",
        ]
        for offset in range(-WINDOW, WINDOW + 1):
            j = i + offset
            if offset and 0 <= j < len(x):
                kind = "REL" if j == rel else "-" if symbols[j] == EMPTY else "SYM"
                names += [f"{offset} {x[j]}", f"{offset} {kind}", f"{relation} {offset} {x[j]}"]
        known = self.features
        if grow:
            self.role_learner.grow(_size_with(known, names), self.n_roles)
        ids = [known.setdefault(n, len(known)) if grow else known.get(n, -1) for n in dict.fromkeys(names)]
        return np.array([k for k in ids if k >= 0], np.int32)

    def parse(self, x: list[str], n: int, valid: Callable[[MR], Any] | None = None) -> list[Parse]:
        """Every MR in the labelling that conforms to the schema and is valid, most confident first."""
        symbols, margins = self._label(x)
        relations = [i for i, symbol in enumerate(symbols) if symbol in self.schema.relations]
        arguments = {rel: self._arguments(x, symbols, rel) for rel in relations}
        inner = {i for places in arguments.values() for i in places if i is not None}
        found: dict[MR, Parse] = {}
        for rel in relations:
            node = self._node(symbols, arguments, rel, ())
            if rel in inner or node is None:
                continue
            score = sum(margins[i] for i in _places(node))
            parse = node.parse(score, x, score)
            allowed = self.schema.valid(parse.mr) and (valid is None or valid(parse.mr))
            if allowed and (parse.mr not in found or found[parse.mr].score < parse.score):
                found[parse.mr] = parse
        return sorted(found.values(), key=lambda parse: -parse.score)

    def _label(self, x: list[str]) -> tuple[list[str], list[float]]:
        names = list(self.symbols)
        symbols, margins = [], []
        for scores in self._scores(x):
            best = int(np.argmax(scores))
            symbols.append(names[best])
            rest = np.delete(scores, best)
            margins.append(float(scores[best] - rest.max(initial=scores[best])))
        return symbols, margins

    def _arguments(self, x: list[str], symbols: list[str], rel: int) -> list[int | None]:
        """For each role of a relation the place of the best scoring word whose tag it is."""
        relation = self.schema.relations[symbols[rel]]
        best: dict[int, tuple[float, int]] = {}
        for i, symbol in enumerate(symbols):
            if i == rel or symbol == EMPTY:
                continue
            features = self._role_features(x, symbols, rel, i, grow=False)
            scores = self.role_learner.scores(features, self.average)
            tag = int(np.argmax(scores)) if len(scores) else 0
            if 0 < tag <= len(relation.slots) and symbol in self.schema.types[relation.slots[tag - 1]]:
                best[tag - 1] = max(best.get(tag - 1, (-np.inf, -1)), (float(scores[tag]), -i))
        places = [-best[k][1] if k in best else None for k in range(len(relation.slots))]
        for later, earlier in relation.copies:
            places[later] = places[earlier]
        return places

    def _node(
        self, symbols: list[str], arguments: dict[int, list[int | None]], place: int, above: tuple[int, ...]
    ) -> Node | None:
        """The tree below a relation; None where an argument is missing or a relation would hold itself."""
        if place not in arguments:
            return Node(symbols[place], (place,))
        least = self.schema.relations[symbols[place]].least
        places = arguments[place]
        while len(places) > least and places[-1] is None:
            places = places[:-1]
        children = []
        for child in places:
            if child is None or child in above or child == place:
                return None
            node = self._node(symbols, arguments, child, (*above, place))
            if node is None:
                return None
            children.append(node)
        return Node(symbols[place], (place,), tuple(children), True)

    def knows(self, symbol: str) -> bool:
        return symbol in self.symbols

    def match(self, x: list[str], candidates: list[MR]) -> Match | None:
        """The most confident MR in the labelling that is a candidate."""
        return next((Match(parse.mr, 1.0) for parse in self.parse(x, 1) if parse.mr in candidates), None)

    def align(self, x: list[str], mr: MR) -> Parse | None:
        """An MR with its words, if the labelling contains it."""
        return next((parse for parse in self.parse(x, 1) if parse.mr == mr), None)

    def explain(self, x: list[str], mr: MR | None) -> list[tuple[str, str, float]]:
        """Of each word the symbol that it got, or its best one in `mr`, and the score above the empty one."""
        wanted = set(self.symbols) if mr is None else {EMPTY, *mr.symbols()}
        parts = []
        for word, scores in zip(x, self._scores(x), strict=True):
            if len(scores):
                name, label = max(
                    ((n, k) for n, k in self.symbols.items() if n in wanted), key=lambda p: scores[p[1]]
                )
                parts.append((name, word, float(scores[label] - scores[0])))
        return sorted(parts, key=lambda part: -abs(part[2]))

    def lexicon(self, least: float = 0.0) -> dict[str, dict[str, float]]:
        """For each word, the symbols that score above the empty one by `least` or more."""
        names = list(self.symbols)
        found = {}
        for word, row in self.words.items():
            scores = self.symbol_learner.scores(np.array([row], np.int32), self.average)
            better = [
                (float(s - scores[0]), name)
                for s, name in zip(scores, names, strict=True)
                if s > scores[0] and s - scores[0] >= least
            ]
            found[word] = {name: score for score, name in sorted(better, reverse=True)}
        return found

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Arrays and JSON values for a model file."""
        if self.features:  # a relation with more arguments may have come since roles were last learned
            self.role_learner.grow(len(self.features), self.n_roles)
        state: dict[str, Any] = {"n_roles": self.n_roles}
        for name, learner in (("symbols", self.symbol_learner), ("roles", self.role_learner)):
            w, drift, counts, rng = learner.state()
            n = len(self.words if name == "symbols" else self.features)
            state |= {f"{name}.w": w[:n], f"{name}.drift": drift[:n]}
            state |= {f"{name}.counts": counts, f"{name}.rng": rng}
        for name in ("symbols", "words", "features"):
            state[name] = list(getattr(self, name))
        return FIELDS.write(state)

    def set_state(self, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
        """Restore the result of `state`; raise ValueError if it is inconsistent."""
        n_roles = 1 + max(map(len, self.schemas.fillers.values()), default=0)
        found = FIELDS.read(arrays, meta, roles=n_roles if meta.get("features") else 0)
        for name in ("symbols", "words", "features"):
            setattr(self, name, {one: k for k, one in enumerate(found[name])})
        if next(iter(self.symbols)) != EMPTY:
            raise ValueError(f"the symbols must start with {EMPTY!r}")
        if found["n_roles"] != n_roles:
            raise ValueError(f"n_roles must be {n_roles}, got {found['n_roles']}")
        self.n_roles = n_roles
        for name, learner in (("symbols", self.symbol_learner), ("roles", self.role_learner)):
            state = [found[f"{name}.{part}"] for part in ("w", "drift", "counts", "rng")]
            if state[2][0] < 1 or state[2][1] != state[0].shape[1]:
                raise ValueError(f"{name}.counts does not fit the weights, got {state[2].tolist()}")
            learner.set_state(*state)


def _size_with(known: dict[str, int], names: list[str]) -> int:
    """How many names are known once these are added."""
    return len(known) + sum(name not in known for name in set(names))


def _places(node: Node) -> set[int]:
    return set(node.places).union(*(_places(child) for child in node.children))
