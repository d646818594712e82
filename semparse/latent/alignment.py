"""Align words with symbols: IBM model 1 on sentences and bags whose right candidate is not known.

The model generates a sentence x from a candidate c word by word. Each word comes from one of the symbols of c
or from the empty symbol, all equally likely:  P(x | c) = prod_i sum_s t(x_i | s) / (1 + |c|).  EM estimates
t. Its E step also computes the posterior of each candidate of a bag and weights the counts by it. The prior
of a candidate is proportional to its weight and to the odds of its relation, because people rarely talk about
some events; EM estimates these odds too. The null candidate, whose only symbol is NULL, has separate odds.

A share of the sentences mean something that their bag lacks. Such a sentence comes from any candidate of any
bag; the prior of a candidate is proportional to its frequency and odds. EM estimates the share. The words of
such a sentence teach nothing. If the share is small, EM runs again without it: a candidate that is almost
right still teaches, and sentences that mean nothing must not pass for missing meanings.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from semparse.options import MOST_ODDS
from semparse.parse import EMPTY
from structsvm.files.codec import TINY, Array, Field, Table, mapped, names, number
from structsvm.validation import LARGEST_COUNT

SMOOTHING = 0.01
NULL = "<nothing>"
MISSING = 0.1  # the first estimate of the share of bags that lack the meaning
MANY = 0.3  # a smaller share is ignored
LEAST_MISSING, MOST_MISSING = 0.001, 0.9
MOST_ELSEWHERE = 1_000  # candidates of other bags, the most frequent ones
BLOCK = 1_000  # sentences

FIELDS = Table(
    Field("words", names(), "the words"),
    Field("symbols", names(), "the symbols"),
    Field("odds", mapped(number(TINY, MOST_ODDS)), "the odds of each relation, and of meaning nothing"),
    Field("cells", Array(np.int32, "cells", 2, low=0), "a word and a symbol each"),
    Field(
        "counts", Array(np.float64, "cells", low=0, high=LARGEST_COUNT), "how often the word stands for it"
    ),
    Field(
        "totals", Array(np.float64, "symbols", low=0, high=LARGEST_COUNT), "how often words stand for each"
    ),
)

Symbols = list[str]  # of a candidate


class Alignment:
    """Expected counts of (word, symbol), and what follows from them."""

    def __init__(self) -> None:
        self.counts: dict[str, dict[str, float]] = {}  # by word, then symbol
        self.totals: dict[str, float] = {}  # by symbol
        self.odds: dict[str, float] = {}  # how likely a candidate is meant, by its first symbol
        self._shares: dict[str, dict[str, float]] = {}

    def fit(
        self,
        X: Sequence[list[str]],
        bags: Sequence[list[Symbols]],
        iterations: int,
        nothing: float,
        logs: Sequence[np.ndarray] | None = None,
    ) -> tuple[list[np.ndarray], np.ndarray]:
        """EM on all sentences together; returns the posteriors of the candidates of each bag.

        If many bags lack the meaning, their posteriors sum to less than 1. The second result is the score of
        a missing meaning by bag, for `posteriors`.
        nothing: the least odds of the null candidate, if the bags have one; the largest odds are 1. Without
        a null candidate, no bag lacks the meaning. logs: the log weights of the candidates, by bag.
        """
        links = _Links(X, bags, logs)
        elsewhere = _Elsewhere(X, bags, links) if NULL in links.heads else None
        odds, posteriors, counts, outside = _estimate(links, iterations, nothing, elsewhere)
        if elsewhere and posteriors.sum() > (1 - MANY) * len(bags):
            odds, posteriors, counts, outside = _estimate(links, iterations, nothing, None)
        self.odds = dict(zip(links.heads, odds.tolist(), strict=True))
        self.counts, self.totals, self._shares = {}, {}, {}
        for (word, symbol), count in zip(links.pairs, counts.tolist(), strict=True):
            self._add(word, symbol, count)
        return np.split(posteriors, links.bag_ends[:-1]), outside

    def see(self, x: list[str], bag: list[Symbols], logs: np.ndarray) -> np.ndarray:
        """Learn from one more sentence: an E step with the counts so far, then update the counts."""
        links = _Links([x], [bag], [logs])
        t = np.array([self._chance(word, symbol) for word, symbol in links.pairs])
        posteriors, counts, _ = links.expect(t, self._odds(links))
        for (word, symbol), count in zip(links.pairs, counts.tolist(), strict=True):
            self._add(word, symbol, count)
            self._shares.pop(word, None)
        return posteriors

    def posteriors(
        self, x: list[str], bag: list[list[Symbols]], logs: np.ndarray, outside: float = -math.inf
    ) -> np.ndarray:
        """The posteriors of candidates with these log weights, without learning.

        A candidate is a list of meanings, each with its symbols. A sentence with several meanings is as
        likely as if each word came from the right one of them; each meaning costs its odds and one position
        of the sentence.
        """
        links = _Links([x], [[[s for symbols in meanings for s in symbols] for meanings in bag]], [logs])
        t = np.array([self._chance(word, symbol) for word, symbol in links.pairs])
        for k, meanings in enumerate(bag):
            links.cell_size[links.cell_candidate == k] = 1 + max(len(symbols) for symbols in meanings)
        more = [[self.odds.get(m[0], 1.0) / len(x) for m in meanings[1:]] for meanings in bag]
        costs = np.array([sum(map(math.log, its)) for its in more])
        return links.expect(t, self._odds(links), costs, outside=np.array([outside]))[0]

    def log_likelihood(self, X: Sequence[list[str]], bags: Sequence[list[Symbols]]) -> float:
        """Of sentences given their bags, without learning."""
        links = _Links(X, bags)
        t = np.array([self._chance(word, symbol) for word, symbol in links.pairs])
        odds = self._odds(links)
        return links.log_likelihood(t, odds) - float(np.log(links.among(odds)).sum())

    def _odds(self, links: _Links) -> np.ndarray:
        return np.array([self.odds.get(head, 1.0) for head in links.heads])

    def share(self, word: str) -> dict[str, float]:
        """Of a word, how its counts are shared by the symbols (empty for a word never seen)."""
        found = self._shares.get(word)
        if found is None:
            counts = self.counts.get(word, {})
            total = sum(counts.values())
            found = {symbol: count / total for symbol, count in counts.items()} if total else {}
            if word in self.counts:
                self._shares[word] = found
        return found

    def lexicon(self, least: float = 0.0) -> dict[str, dict[str, float]]:
        """For each word, the symbols that it may stand for, best first, with their shares of its counts.

        "-" has the share of nothing; symbols with a smaller share than `least` are left out.
        """
        found = {}
        for word in self.counts:
            shares = dict(self.share(word))
            nothing = shares.pop(EMPTY, 0.0) + shares.pop(NULL, 0.0)
            ranked = sorted(((p, s) for s, p in {**shares, EMPTY: nothing}.items()), reverse=True)
            found[word] = {symbol: p for p, symbol in ranked if p >= least}
        return found

    def _chance(self, word: str, symbol: str) -> float:
        count = self.counts.get(word, {}).get(symbol, 0.0)
        return (count + SMOOTHING) / (self.totals.get(symbol, 0.0) + SMOOTHING * (len(self.counts) + 1))

    def _add(self, word: str, symbol: str, count: float) -> None:
        row = self.counts.setdefault(word, {})
        row[symbol] = row.get(symbol, 0.0) + count
        self.totals[symbol] = self.totals.get(symbol, 0.0) + count

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        symbols = {symbol: k for k, symbol in enumerate(sorted(self.totals))}
        cells = [
            (w, symbols[s], count) for w, row in enumerate(self.counts.values()) for s, count in row.items()
        ]
        return FIELDS.write({
            "words": list(self.counts), "symbols": list(symbols), "odds": self.odds,
            "cells": np.array([cell[:2] for cell in cells], np.int32).reshape(-1, 2),
            "counts": np.array([cell[2] for cell in cells], np.float64),
            "totals": np.array([self.totals[symbol] for symbol in symbols], np.float64),
        }, "alignment.")  # fmt: skip

    def set_state(self, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
        """Restore what `state` returned; raise ValueError where its parts do not fit together."""
        words, symbols, self.odds, cells, counts, totals = FIELDS.read(arrays, meta, "alignment.").values()
        if len(cells) and not (cells.max(0) < [len(words), len(symbols)]).all():
            raise ValueError("alignment.cells has a word or symbol without a name")
        self.counts, self._shares = {word: {} for word in words}, {}
        for (word, symbol), count in zip(cells.tolist(), counts.tolist(), strict=True):
            self.counts[words[word]][symbols[symbol]] = count
        self.totals = dict(zip(symbols, totals.tolist(), strict=True))


def _estimate(
    links: _Links, iterations: int, nothing: float, elsewhere: _Elsewhere | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """EM: the odds, the posteriors, the counts, and the score of a missing meaning by bag."""
    t, odds = np.full(len(links.pairs), 1.0), np.ones(len(links.heads))
    outside, missing = np.full(len(links.bag_ends), -np.inf), MISSING
    for done in range(iterations):
        posteriors, counts, inside = links.expect(t, odds, outside=outside)
        if done > 1:
            missing = min(max(1 - float(inside.mean()), LEAST_MISSING), MOST_MISSING)
        odds = links.new_odds(posteriors, inside, odds, nothing)
        totals = np.bincount(links.symbol, counts, links.n_symbols) + SMOOTHING * links.n_words
        t = (counts + SMOOTHING) / totals[links.symbol]
        if elsewhere and done > 0:  # after one iteration, no symbol knows its words
            outside = elsewhere.log_odds(t, SMOOTHING / totals, odds, missing)
    return odds, posteriors, counts, outside


class _Links:
    """All (candidate, word, symbol) triples of some bags, as arrays.

    A link is a triple; a cell is a (candidate, word) pair, whose links lie side by side; bags are runs of
    candidates.
    """

    def __init__(
        self,
        X: Sequence[list[str]],
        bags: Sequence[list[Symbols]],
        logs: Sequence[np.ndarray] | None = None,
    ) -> None:
        pairs: dict[tuple[str, str], int] = {}
        link_pair: list[int] = []
        cell_ends: list[int] = []
        cell_candidate: list[int] = []
        candidates = 0
        heads: dict[str, int] = {}
        head: list[int] = []
        for x, bag in zip(X, bags, strict=True):
            for meant in bag:
                symbols = [EMPTY, *meant]
                head.append(heads.setdefault(meant[0], len(heads)))
                for word in x:
                    link_pair += [pairs.setdefault((word, symbol), len(pairs)) for symbol in symbols]
                    cell_ends.append(len(link_pair))
                    cell_candidate.append(candidates)
                candidates += 1
        self.pairs, self.heads, self.head = list(pairs), list(heads), np.array(head, np.intp)
        self.words = {word: k for k, word in enumerate(dict.fromkeys(word for word, _ in pairs))}
        self.symbols = {symbol: k for k, symbol in enumerate(dict.fromkeys(s for _, s in pairs))}
        self.symbol = np.array([self.symbols[symbol] for _, symbol in pairs], np.intp)
        self.n_symbols, self.n_words = len(self.symbols), len(self.words)
        self.link_pair = np.array(link_pair, np.intp)
        self.cell_size = np.diff(cell_ends, prepend=0)
        self.link_cell = np.repeat(np.arange(len(cell_ends)), self.cell_size)
        self.cell_candidate = np.array(cell_candidate, np.intp)
        self.bag_ends = np.cumsum([len(bag) for bag in bags])
        self._starts = np.concatenate([[0], self.bag_ends[:-1]])
        self.candidate_bag = np.repeat(np.arange(len(bags)), [len(bag) for bag in bags])
        self.log_weight = np.concatenate(logs) if logs else np.zeros(candidates)

    def new_odds(
        self, posteriors: np.ndarray, inside: np.ndarray, odds: np.ndarray, nothing: float
    ) -> np.ndarray:
        """One step of maximum likelihood for the odds of heads (Hunter's MM algorithm), smoothed by a win and
        a loss against odds of 1; relative to the largest. Those of meaning nothing are at least `nothing`."""
        n = len(self.heads)
        wins = np.bincount(self.head, posteriors, n)
        weighted = np.exp(self.log_weight) * (inside / self.among(odds))[self.candidate_bag]
        chances = np.bincount(self.head, weighted, n)
        odds = (wins + 1) / (chances + 2 / (1 + odds))
        odds /= odds.max()
        if NULL in self.heads:
            null = self.heads.index(NULL)
            odds[null] = max(odds[null], nothing)
        return odds

    def among(self, odds: np.ndarray) -> np.ndarray:
        """The sum of the odds of each bag, times the weights."""
        return np.bincount(self.candidate_bag, np.exp(self.log_weight) * odds[self.head])

    def scores(self, t: np.ndarray, odds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The log score of each candidate, and the sum of chances in each cell."""
        sums = np.bincount(self.link_cell, t[self.link_pair], len(self.cell_size))
        score = np.bincount(self.cell_candidate, np.log(sums / self.cell_size), len(self.candidate_bag))
        return score + np.log(odds[self.head]) + self.log_weight, sums

    def log_likelihood(self, t: np.ndarray, odds: np.ndarray) -> float:
        """The sum of the log scores of the bags."""
        return float(np.logaddexp.reduceat(self.scores(t, odds)[0], self._starts).sum())

    def expect(
        self,
        t: np.ndarray,
        odds: np.ndarray,
        more: np.ndarray | float = 0.0,
        *,
        outside: np.ndarray | float = -np.inf,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The E step: posteriors of the candidates, expected counts of the pairs, and for each bag the
        probability that it has the meaning.

        outside: the score of a meaning that the bag lacks, by bag.
        """
        score, sums = self.scores(t, odds)
        score += more
        best = np.maximum(np.maximum.reduceat(score, self._starts), outside)
        odds = np.exp(score - best[self.candidate_bag])
        lacking = np.exp(outside - best)
        total = np.bincount(self.candidate_bag, odds) + lacking
        posteriors = odds / total[self.candidate_bag]
        weight = posteriors[self.cell_candidate] / sums
        counts = np.bincount(self.link_pair, t[self.link_pair] * weight[self.link_cell], len(t))
        return posteriors, counts, 1 - lacking / total


class _Elsewhere:
    """The likelihood of sentences under the candidates of all bags."""

    def __init__(self, X: Sequence[list[str]], bags: Sequence[list[Symbols]], links: _Links) -> None:
        seen = Counter(tuple(meant) for bag in bags for meant in bag if meant != [NULL])
        kinds = seen.most_common(MOST_ELSEWHERE)
        self.links = links
        self.pair_word = np.array([links.words[word] for word, _ in links.pairs], np.intp)
        self.word = np.array([links.words[word] for x in X for word in x], np.intp)
        self.bounds = np.cumsum([0, *map(len, X)])
        self.frequency = np.array([count for _, count in kinds], float)
        self.head = np.array([links.heads.index(meant[0]) for meant, _ in kinds], np.intp)
        self.share = np.zeros((links.n_symbols, len(kinds)))  # of a symbol in a candidate
        for k, (meant, _) in enumerate(kinds):
            for symbol in (EMPTY, *meant):
                self.share[links.symbols[symbol], k] += 1 / (1 + len(meant))

    def log_odds(self, t: np.ndarray, unseen: np.ndarray, odds: np.ndarray, missing: float) -> np.ndarray:
        """The score of a missing meaning in each bag, if a share `missing` of the bags lack theirs."""
        table = np.tile(unseen, (self.links.n_words, 1))
        table[self.pair_word, self.links.symbol] = t
        prior = self.frequency * odds[self.head]
        priors, chances = np.log(prior / prior.sum()), np.log(table @ self.share)
        blocks = [self._likelihood(chances, priors, k) for k in range(0, len(self.bounds) - 1, BLOCK)]
        return np.concatenate(blocks) + np.log(self.links.among(odds) * missing / (1 - missing))

    def _likelihood(self, chances: np.ndarray, priors: np.ndarray, first: int) -> np.ndarray:
        """Of a block of sentences: one table for all sentences could be too large."""
        bounds = self.bounds[first : first + BLOCK + 1]
        words = chances[self.word[bounds[0] : bounds[-1]]]
        return np.logaddexp.reduce(np.add.reduceat(words, bounds[:-1] - bounds[0]) + priors, axis=1)


def lacks_meaning(posteriors: np.ndarray) -> bool:
    """Whether a bag more likely lacks the meaning than any of its candidates is meant."""
    return bool(1 - posteriors.sum() > posteriors.max())
