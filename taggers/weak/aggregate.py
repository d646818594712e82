"""Estimate the reliabilities of sources by a hidden Markov model, from their answers alone.

The states are the labels. Each source j answers token t with a symbol that it draws with the probability
E_j[c, y, symbol], where y is the true label and c says whether its previous answer was part of a phrase: a
source that overlooks a phrase overlooks all its tokens. O right before a phrase is a state of its own,
because there sources begin phrases too early. Sources are independent given y; labels follow each
other with the probabilities T. Expectation maximization estimates T and E with Dirichlet priors. This is
empirical Bayes: each step takes the prior of a source from the answers of the average source, so a source
with few answers is judged like the others, but no fixed objective is maximized. A set is a constraint: it
has probability 1 in the states that it contains and `LEAK` in the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np

from taggers.labels.label_encoding import choices
from taggers.labels.schemes import OUTSIDE, has, split

LEAK = 0.02
STEPS = 5  # of expectation maximization; more steps fit the ends of phrases to errors that sources share
TOLERANCE = 1e-4  # a step that gains less than this per token is the last one
CORRECT = 0.8  # of the answers of a source, before anything is known
CELLS = 2**22  # of a table of sentences x labels x labels, at most
WEAK, STRONG = 1.0, 20.0  # counts of the prior for transitions, and for a label of a source


@dataclass
class Consensus:
    """The labels that all sources together suggest.

    names: the labels. posterior: tokens x names. answered: tokens about which some source says something.
    path: the most probable sequence of labels. expected: for each source how often it probably gave each
    answer to each label: names x names, and another column for no answer.
    """

    names: list[str]
    posterior: np.ndarray
    path: np.ndarray
    answered: np.ndarray
    expected: dict[str, np.ndarray]
    sentence_ptr: np.ndarray

    def reliability(self, source: str) -> dict[str, tuple[float, float]]:
        """The estimated precision and recall of a source for each type of phrase, or each label."""
        table = self.expected[source]
        kinds = [split(name)[1] or name for name in self.names]
        found = {}
        for kind in sorted(set(kinds)):
            at = np.array([one == kind for one in kinds])
            right = table[at][:, :-1][:, at].trace()
            found[kind] = (right / max(table[:, :-1][:, at].sum(), 1e-9), right / max(table[at].sum(), 1e-9))
        return {kind: (float(a), float(b)) for kind, (a, b) in found.items()}

    def overall(self, source: str) -> tuple[float, float]:
        """The estimated precision and recall of a source for all phrases, or all labels."""
        table = self.expected[source]
        at = np.array([name != OUTSIDE for name in self.names])
        right = table[at][:, :-1][:, at].trace()
        said, true = table[:, :-1][:, at].sum(), table[at].sum()
        return float(right / max(said, 1e-9)), float(right / max(true, 1e-9))

    def best(self) -> list[list[str]]:
        """The most probable labels of each sentence."""
        flat = [self.names[k] for k in self.path.tolist()]
        return [flat[a:b] for a, b in pairwise(self.sentence_ptr.tolist())]

    def confidence(self) -> list[list[float]]:
        """The probability of each of these labels."""
        flat = self.posterior[np.arange(len(self.path)), self.path].tolist()
        return [flat[a:b] for a, b in pairwise(self.sentence_ptr.tolist())]

    def sets(self, share: float) -> list[list[Any]]:
        """The labels of each token with at least this share of the largest probability; None if unanswered.

        The label on the most probable path is always among them, so each sentence has a valid labelling.
        """
        keep = self.posterior >= share * self.posterior.max(axis=1, keepdims=True)
        keep[np.arange(len(keep)), self.path] = True
        rows = []
        for chosen, said in zip(keep, self.answered.tolist(), strict=True):
            labels = [self.names[k] for k in np.flatnonzero(chosen)]
            rows.append((labels[0] if len(labels) == 1 else frozenset(labels)) if said else None)
        return [rows[a:b] for a, b in pairwise(self.sentence_ptr.tolist())]


def label_names(votes: Mapping[Any, Sequence[Sequence[Any]]], *, phrases: bool) -> list[str]:
    """All labels that the sources use; with `phrases`, also O, and B-x for each I-x."""
    seen: set[str] = set()
    for rows in votes.values():
        for label in {one for row in rows for one in row if one is not None}:
            seen.update([label] if isinstance(label, str) else label)
    if not phrases:
        return sorted(seen)
    begun = {f"B-{split(label)[1]}" for label in seen if label != OUTSIDE}
    return [OUTSIDE, *sorted(begun | seen - {OUTSIDE}, key=lambda label: (split(label)[1], label))]


def aggregate(
    votes: Mapping[str, Sequence[Sequence[Any]]],
    *,
    phrases: bool = True,
    gold: Sequence[Sequence[Any] | None] | None = None,
    steps: int = STEPS,
    callback: Callable[[int], Any] | None = None,
) -> Consensus:
    """Estimate the reliabilities of sources and the labels.

    votes: for each source the answers to all sentences. gold: the known labels of some of the sentences, None
    for the others; labels of phrases in IOB2. callback: receives the number of each finished step.
    """
    some = next(iter(votes.values()))
    known = [None] * len(some) if gold is None else gold
    given = [[one for label in row or () if label is not None for one in choices(label, ())] for row in known]
    if phrases and not has("IOB2", chain(*given)):
        raise ValueError("gold has labels that are not in IOB2, such as B-PER, I-PER and O; convert them")
    labels = label_names(dict(enumerate([*votes.values(), given])), phrases=phrases)
    names = [*labels, OUTSIDE] if phrases else labels  # the label of each state
    pointers = np.cumsum([0, *map(len, some)], dtype=np.int64)
    n, K = int(pointers[-1]), len(names)
    log_fixed = np.zeros((n, K))
    answered = np.zeros(n, bool)
    sources = []
    for name, rows in votes.items():
        sources += _answers(name, rows, names, log_fixed, answered, phrases=phrases)
    legal = _legal(names, phrases=phrases)
    # Sources cannot tell labels that only gold has from O, so only tokens with gold labels have them.
    barred = np.tile(~np.isin(names, label_names(votes, phrases=phrases)), (n, 1))
    for row, start, like in zip(known, pointers[:-1].tolist(), some, strict=True):
        if row and len(row) != len(like):
            raise ValueError(f"gold has {len(row)} labels for a sentence of {len(like)} tokens")
        reached = legal[-1]
        for at, label in enumerate(row or (), start):
            if label is not None:
                barred[at] = True
                barred[at, np.isin(names, choices(label, ()))] = False
                answered[at] = True
            reached = reached * ~barred[at]
            if not reached.any():
                raise ValueError(
                    f"the gold label {label!r} is out of place in {row}; write gold labels in IOB2"
                )
            reached = (reached @ legal[:-1] > 0).astype(float)
    log_fixed[barred] = -1e9
    # The first posterior: a vote that is right with probability CORRECT, smoothed by the sources' set votes.
    log_b = log_fixed.copy()
    for one in sources:
        one.add(log_b, one.first(CORRECT))
    transitions = legal / legal.sum(axis=1, keepdims=True)
    chains = Chains(pointers)
    before = -np.inf
    for step in range(steps):
        posterior, pairs, likelihood = chains.posterior(log_b, transitions)
        transitions = legal * (pairs + WEAK / K) + 1e-300
        transitions /= transitions.sum(axis=1, keepdims=True)
        pooled = _pooled(sources, posterior, names)
        log_b = log_fixed.copy()
        for one in sources:
            one.add(log_b, one.learn(posterior, pooled))
        if callback is not None:
            callback(step + 1)
        if likelihood - before < TOLERANCE * n and step > 2:
            break
        before = likelihood
    posterior, _, _ = chains.posterior(log_b, transitions)
    if not np.isfinite(posterior).all():
        raise ValueError("no sequence of labels agrees with the answers and the gold labels")
    path = chains.best(log_b, transitions)
    if phrases:  # both states of O are one label
        posterior[:, 0] += posterior[:, -1]
        posterior, path = posterior[:, :-1], np.where(path == K - 1, 0, path)
    expected = {name: np.zeros((len(labels), len(labels) + 1)) for name in votes}
    for one in sources:
        places = [len(labels) if symbol is None else labels.index(symbol) for symbol in one.symbols]
        expected[one.name][:, places] += one.expected(posterior)
    return Consensus(labels, posterior, path, answered, expected, pointers)


def _legal(names: Sequence[str], *, phrases: bool) -> np.ndarray:
    """Which state may follow which; the last row: which may come first.

    The first state of phrases is O, and the last one is O right before a phrase.
    """
    K = len(names)
    legal = np.ones((K + 1, K))
    if phrases:
        for k, name in enumerate(names):
            if name.startswith("I-"):
                legal[:, k] = [one[1:] == name[1:] and one != OUTSIDE for one in names] + [False]
        begins = [name.startswith("B-") for name in names]
        legal[0, begins] = 0
        if any(begins):  # else there are no phrases, and both states are O
            legal[K - 1] = begins
    return legal


def _answers(
    name: str,
    rows: Sequence[Sequence[Any]],
    names: Sequence[str],
    log_fixed: np.ndarray,
    answered: np.ndarray,
    *,
    phrases: bool,
) -> list[_Answers]:
    """The answers of a source after no phrase and within one; sets go to `log_fixed`.

    A source that never says O answers with silence too, so there silence is a symbol; for others, a token
    without an answer was not asked.
    """
    flat = [one for row in rows for one in row]
    said = sorted({one for one in flat if isinstance(one, str)})
    silent = phrases and OUTSIDE not in said
    symbols: list[str | None] = [*said, *([None] if silent else [])]
    place = {symbol: k for k, symbol in enumerate(symbols)}
    ids = np.array([place.get(one, -1) if one is None or isinstance(one, str) else -1 for one in flat], int)
    sets: dict[frozenset[str], list[int]] = defaultdict(list)
    for at, one in enumerate(flat):
        if isinstance(one, frozenset):
            sets[one].append(at)
    for one, places in sets.items():
        log_fixed[np.ix_(places, [k for k, label in enumerate(names) if label not in one])] += np.log(LEAK)
    answered |= np.array([one is not None for one in flat], bool)
    inside = np.array([
        isinstance(one, str) and one != OUTSIDE for row in rows for one in (None, *row[:-1])[: len(row)]
    ], bool)  # fmt: skip
    found = []
    for context in range(2):
        used = np.flatnonzero((ids >= 0) & ((inside & phrases) == bool(context)))
        if len(used):
            found.append(_Answers(name, context, used, ids[used], symbols, names))
    return found


class _Answers:
    """The answers of a source in one context, and what is learned about them."""

    def __init__(
        self, name: str, context: int, at: np.ndarray, ids: np.ndarray, symbols: list[str | None],
        names: Sequence[str],
    ) -> None:  # fmt: skip
        self.name, self.context, self.names, self.symbols = name, context, list(names), symbols
        self.silent = None in symbols
        self.types = {split(one)[1] for one in symbols if one is not None}
        order = np.argsort(ids, kind="stable")
        self.at, self.symbol = at[order], ids[order]
        self.starts = np.searchsorted(self.symbol, np.arange(len(symbols)))
        self.counts = np.bincount(self.symbol, minlength=len(symbols))
        self.table = np.zeros((len(names), len(symbols)))

    def _own(self, k: int) -> int:
        """The state whose answers a state has at first: types that the source does not know look like O."""
        strange = OUTSIDE in self.symbols and split(self.names[k])[1] not in self.types
        return self.names.index(OUTSIDE) if strange else k

    def first(self, correct: float) -> np.ndarray:
        """A table in which the right answer has this probability, and the others share the rest."""
        table = np.empty((len(self.names), len(self.symbols)))
        shares = self.counts / max(self.counts.sum(), 1)
        for k in range(len(self.names)):
            label = self.names[self._own(k)]
            right = np.array([
                float(one == label or (one is None and label == OUTSIDE)) for one in self.symbols
            ])  # fmt: skip
            if self.silent and label != OUTSIDE:  # a list of names lacks many
                right = correct * right + (1 - correct) * np.array([one is None for one in self.symbols])
            rest = (shares + 1 / len(shares)) / 2
            table[k] = correct * right + (1 - correct * right.sum()) * rest if right.sum() else rest
        self.table = table / table.sum(axis=1, keepdims=True)
        return self.table

    def expected(self, posterior: np.ndarray) -> np.ndarray:
        """How often each label got each answer: names x symbols."""
        counts = np.zeros((len(self.symbols), posterior.shape[1]))
        used = self.counts > 0
        counts[used] = np.add.reduceat(posterior[self.at], self.starts[used], axis=0)
        return counts.T

    def learn(self, posterior: np.ndarray, pooled: np.ndarray) -> np.ndarray:
        """The table that fits the answers best, near the average source."""
        prior = self.first(CORRECT)
        if not self.silent:
            places = [self.names.index(str(one)) for one in self.symbols]
            prior = pooled[self.context][:, places] + 1e-3 * prior
            prior = prior / prior.sum(axis=1, keepdims=True)
        table = self.expected(posterior) + STRONG * prior
        self.table = table / table.sum(axis=1, keepdims=True)
        return self.table

    def add(self, log_b: np.ndarray, table: np.ndarray) -> None:
        """Add the logarithm of the probability of the answers to each token and state."""
        log_b[self.at] += np.log(table)[:, self.symbol].T


def _pooled(sources: Sequence[_Answers], posterior: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """The answers of the average source that labels every token: contexts x names x names."""
    K = len(names)
    right = np.eye(K)[[names.index(name) for name in names]]
    total = np.tile(CORRECT * right + (1 - CORRECT) / K, (2, 1, 1))
    for one in sources:
        if not one.silent:
            places = [names.index(str(symbol)) for symbol in one.symbols]
            total[one.context][:, places] += one.expected(posterior)
    pooled: np.ndarray = total / total.sum(axis=2, keepdims=True)
    return pooled


class Chains:
    """Forward, backward and Viterbi for all sentences at once, token after token."""

    def __init__(self, pointers: np.ndarray) -> None:
        lengths = np.diff(pointers)
        order = np.argsort(-lengths, kind="stable")
        starts, lengths = pointers[:-1][order], lengths[order]
        longest = int(lengths.max(initial=0))
        active = np.searchsorted(-lengths, -np.arange(longest), side="left")
        self.rows = [starts[:count] + at for at, count in enumerate(active.tolist())]

    def posterior(self, log_b: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """The probability of each label of each token, expected counts of transitions, log-likelihood."""
        top = log_b.max(axis=1, keepdims=True)
        b = np.exp(log_b - top)
        alpha, beta, scale = np.empty_like(b), np.ones_like(b), np.ones(len(b))
        pairs = np.zeros_like(T)
        for at, rows in enumerate(self.rows):
            before = T[-1] if at == 0 else alpha[self.rows[at - 1][: len(rows)]] @ T[:-1]
            alpha[rows] = before * b[rows]
            scale[rows] = alpha[rows].sum(axis=1) + 1e-300
            alpha[rows] /= scale[rows][:, None]
        for at in range(len(self.rows) - 1, 0, -1):
            rows = self.rows[at]
            last = self.rows[at - 1][: len(rows)]
            after = b[rows] * beta[rows] / scale[rows][:, None]
            beta[last] = after @ T[:-1].T
            pairs[:-1] += T[:-1] * (alpha[last].T @ after)
        posterior = alpha * beta
        posterior /= posterior.sum(axis=1, keepdims=True)
        if self.rows:
            pairs[-1] = posterior[self.rows[0]].sum(axis=0)
        return posterior, pairs, float(np.log(scale).sum() + top.sum())

    def best(self, log_b: np.ndarray, T: np.ndarray) -> np.ndarray:
        """The most probable sequence of labels."""
        log_t = np.log(T + 1e-300)
        score = log_b.copy()
        back = np.zeros(log_b.shape, np.int32)
        step = max(1, CELLS // log_b.shape[1] ** 2)
        for at, rows in enumerate(self.rows):
            if at == 0:
                score[rows] += log_t[-1]
                continue
            for start in range(0, len(rows), step):
                some = rows[start : start + step]
                total = score[self.rows[at - 1][start : start + len(some)], :, None] + log_t[None, :-1]
                back[some] = total.argmax(axis=1)
                score[some] += total.max(axis=1)
        path = np.zeros(len(log_b), np.int64)
        for at in range(len(self.rows) - 1, -1, -1):
            rows = self.rows[at]
            path[rows] = score[rows].argmax(axis=1)
            if at + 1 < len(self.rows):
                after = self.rows[at + 1]
                path[rows[: len(after)]] = back[after, path[after]]
        return path
