"""Align words with symbols: IBM model 1 on sentences and bags whose right candidate is not known.

The model generates a sentence x from a candidate c word by word. Each word comes from one of the symbols of c
or from the empty symbol, all equally likely:  P(x | c) = prod_i sum_s t(x_i | s) / (1 + |c|).  EM estimates
t. Its E step also computes the posterior of each candidate of a bag and weights the counts by it. The prior
of a candidate is proportional to the odds of its relation, because people rarely talk about some events; EM
estimates these odds too. The null candidate, whose only symbol is NULL, has separate odds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from semparse.checks import LARGEST_COUNT, checked_array, numbered
from semparse.parse import EMPTY

SMOOTHING = 0.01
NULL = "<nothing>"
NULL_SHARE = 0.5

Symbols = list[str]  # of a candidate


class Alignment:
    """Expected counts of (word, symbol), and what follows from them."""

    def __init__(self) -> None:
        self.counts: dict[str, dict[str, float]] = {}  # by word, then symbol
        self.totals: dict[str, float] = {}  # by symbol
        self.odds: dict[str, float] = {}  # how likely a candidate is meant, by its first symbol
        self._shares: dict[str, dict[str, float]] = {}

    def fit(
        self, X: Sequence[list[str]], bags: Sequence[list[Symbols]], iterations: int, nothing: float
    ) -> list[np.ndarray]:
        """EM on all sentences together; returns the posteriors of the candidates of each bag.

        nothing: the least odds of the null candidate, if the bags have one; the largest odds are 1.
        """
        links = _Links(X, bags)
        t = np.full(len(links.pairs), 1.0)
        odds = np.ones(len(links.heads))
        for _ in range(iterations):
            posteriors, counts = links.expect(t, odds)
            odds = links.new_odds(posteriors, odds, nothing)
            totals = np.bincount(links.symbol, counts, links.n_symbols)
            t = (counts + SMOOTHING) / (totals + SMOOTHING * links.n_words)[links.symbol]
        self.odds = dict(zip(links.heads, odds.tolist(), strict=True))
        self.counts, self.totals, self._shares = {}, {}, {}
        for (word, symbol), count in zip(links.pairs, counts.tolist(), strict=True):
            self._add(word, symbol, count)
        return np.split(posteriors, links.bag_ends[:-1])

    def see(self, x: list[str], bag: list[Symbols]) -> np.ndarray:
        """Learn from one more sentence: an E step with the counts so far, then update the counts."""
        links = _Links([x], [bag])
        t = np.array([self._chance(word, symbol) for word, symbol in links.pairs])
        posteriors, counts = links.expect(t, self._odds(links))
        for (word, symbol), count in zip(links.pairs, counts.tolist(), strict=True):
            self._add(word, symbol, count)
            self._shares.pop(word, None)
        return posteriors

    def posteriors(self, x: list[str], bag: list[list[Symbols]]) -> np.ndarray:
        """The posteriors of candidates, without learning.

        A candidate is a list of meanings, each with its symbols. A sentence with several meanings is as
        likely as if each word came from the right one of them; each meaning costs its odds and one position
        of the sentence.
        """
        links = _Links([x], [[[s for symbols in meanings for s in symbols] for meanings in bag]])
        t = np.array([self._chance(word, symbol) for word, symbol in links.pairs])
        for k, meanings in enumerate(bag):
            links.cell_size[links.cell_candidate == k] = 1 + max(len(symbols) for symbols in meanings)
        more = [[self.odds.get(m[0], 1.0) / len(x) for m in meanings[1:]] for meanings in bag]
        return links.expect(t, self._odds(links), np.array([sum(map(math.log, its)) for its in more]))[0]

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
        arrays: dict[str, np.ndarray] = {
            "alignment.cells": np.array([cell[:2] for cell in cells], np.int32).reshape(-1, 2),
            "alignment.counts": np.array([cell[2] for cell in cells], np.float64),
            "alignment.totals": np.array([self.totals[symbol] for symbol in symbols], np.float64),
        }
        return arrays, {"words": list(self.counts), "symbols": list(symbols), "odds": self.odds}

    def set_state(self, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
        """Restore what `state` returned; raise ValueError where its parts do not fit together."""
        words = list(numbered(meta["words"], "words of the alignment"))
        symbols = list(numbered(meta["symbols"], "symbols of the alignment"))
        n = len(arrays["alignment.counts"])
        cells = checked_array(arrays, "alignment.cells", np.int32, (n, 2), LARGEST_COUNT)
        counts = checked_array(arrays, "alignment.counts", np.float64, (n,), LARGEST_COUNT)
        totals = checked_array(arrays, "alignment.totals", np.float64, (len(symbols),), LARGEST_COUNT)
        if n and not (cells.min() >= 0 and (cells.max(0) < [len(words), len(symbols)]).all()):
            raise ValueError("alignment.cells has a word or symbol without a name")
        if counts.min(initial=0) < 0 or totals.min(initial=0) < 0:
            raise ValueError("the counts of the alignment must be at least 0")
        self.odds = {name: float(value) for name, value in meta["odds"].items()}
        if not all(0 < value <= 1 for value in self.odds.values()):
            raise ValueError("the odds of the alignment must be above 0 and at most 1")
        self.counts, self._shares = {word: {} for word in words}, {}
        for (word, symbol), count in zip(cells.tolist(), counts.tolist(), strict=True):
            self.counts[words[word]][symbols[symbol]] = count
        self.totals = dict(zip(symbols, totals.tolist(), strict=True))


class _Links:
    """All (candidate, word, symbol) triples of some bags, as arrays.

    A link is a triple; a cell is a (candidate, word) pair, whose links lie side by side; bags are runs of
    candidates.
    """

    def __init__(self, X: Sequence[list[str]], bags: Sequence[list[Symbols]]) -> None:
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
        names = {symbol: k for k, symbol in enumerate(dict.fromkeys(symbol for _, symbol in pairs))}
        self.symbol = np.array([names[symbol] for _, symbol in pairs], np.intp)
        self.n_symbols = len(names)
        self.n_words = len({word for word, _ in pairs})
        self.link_pair = np.array(link_pair, np.intp)
        self.cell_size = np.diff(cell_ends, prepend=0)
        self.link_cell = np.repeat(np.arange(len(cell_ends)), self.cell_size)
        self.cell_candidate = np.array(cell_candidate, np.intp)
        self.bag_ends = np.cumsum([len(bag) for bag in bags])
        self.candidate_bag = np.repeat(np.arange(len(bags)), [len(bag) for bag in bags])

    def new_odds(self, posteriors: np.ndarray, odds: np.ndarray, nothing: float) -> np.ndarray:
        """One step of maximum likelihood for the odds of heads (Hunter's MM algorithm), smoothed by a win and
        a loss against odds of 1; relative to the largest. Those of meaning nothing are at least `nothing`."""
        n = len(self.heads)
        among = np.bincount(self.candidate_bag, odds[self.head])
        wins = np.bincount(self.head, posteriors, n)
        chances = np.bincount(self.head, 1 / among[self.candidate_bag], n)
        odds = (wins + 1) / (chances + 2 / (1 + odds))
        odds /= odds.max()
        if NULL in self.heads:
            null = self.heads.index(NULL)
            odds[null] = max(odds[null], nothing)
        return odds

    def expect(
        self, t: np.ndarray, odds: np.ndarray, more: np.ndarray | float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """The E step: posteriors of the candidates, and expected counts of the pairs."""
        chances = t[self.link_pair]
        sums = np.bincount(self.link_cell, chances, len(self.cell_size))
        n = len(self.candidate_bag)
        score = np.bincount(self.cell_candidate, np.log(sums / self.cell_size), n)
        score += np.log(odds[self.head]) + more
        starts = np.concatenate([[0], self.bag_ends[:-1]])
        odds = np.exp(score - np.maximum.reduceat(score, starts)[self.candidate_bag])
        posteriors = odds / np.bincount(self.candidate_bag, odds)[self.candidate_bag]
        weight = posteriors[self.cell_candidate] / sums
        counts = np.bincount(self.link_pair, chances * weight[self.link_cell], len(t))
        return posteriors, counts
