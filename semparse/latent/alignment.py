"""Which words go with which symbols: IBM model 1 between sentences and bags whose right candidate is hidden.

A sentence x of a candidate c is thought to be made word by word, each from one of the symbols of c or from
the empty one, all as likely:  P(x | c) = prod_i sum_s t(x_i | s) / (1 + |c|).  EM estimates t; its E step
also gives each candidate of a bag a posterior, P(x | c) / sum_c' P(x | c'), by which its counts are weighted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from semparse.checks import LARGEST_COUNT, checked_array, numbered
from semparse.meaning import MR
from semparse.parse import EMPTY

SMOOTHING = 0.01


class Alignment:
    """Expected counts of (word, symbol), and what follows from them."""

    def __init__(self) -> None:
        self.counts: dict[str, dict[str, float]] = {}  # by word, then symbol
        self.totals: dict[str, float] = {}  # by symbol
        self._shares: dict[str, dict[str, float]] = {}

    def fit(self, X: Sequence[list[str]], bags: Sequence[list[MR]], iterations: int) -> list[np.ndarray]:
        """EM on all sentences together; returns the posteriors of the candidates of each bag."""
        links = _Links(X, bags)
        t = np.full(len(links.pairs), 1.0)
        for _ in range(iterations):
            posteriors, counts = links.expect(t)
            totals = np.bincount(links.symbol, counts, links.n_symbols)
            t = (counts + SMOOTHING) / (totals + SMOOTHING * links.n_words)[links.symbol]
        self.counts, self.totals, self._shares = {}, {}, {}
        for (word, symbol), count in zip(links.pairs, counts.tolist(), strict=True):
            self._add(word, symbol, count)
        return np.split(posteriors, links.bag_ends[:-1])

    def see(self, x: list[str], bag: list[MR]) -> np.ndarray:
        """Learn from one more sentence: an E step with the counts so far, then update the counts."""
        links = _Links([x], [bag])
        t = np.array([self._chance(word, symbol) for word, symbol in links.pairs])
        posteriors, counts = links.expect(t)
        for (word, symbol), count in zip(links.pairs, counts.tolist(), strict=True):
            self._add(word, symbol, count)
            self._shares.pop(word, None)
        return posteriors

    def posteriors(self, x: list[str], bag: list[MR]) -> np.ndarray:
        """The posteriors of candidates, learning nothing."""
        links = _Links([x], [bag])
        return links.expect(np.array([self._chance(word, symbol) for word, symbol in links.pairs]))[0]

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

    def lexicon(self) -> dict[str, dict[str, float]]:
        """Of each word the symbols that it may stand for, best first, with their shares of its counts."""
        found = {}
        for word in self.counts:
            ranked = sorted(((p, s) for s, p in self.share(word).items() if s != EMPTY), reverse=True)
            found[word] = {symbol: p for p, symbol in ranked}
        return found

    def often_unsaid(
        self,
        X: Sequence[list[str]],
        bags: Sequence[list[MR]],
        posteriors: Sequence[np.ndarray],
        share: float,
        often: float,
    ) -> set[str]:
        """Symbols of the likeliest candidates that, more than once and in so large a part of the sentences
        that mean them, have no word with that share of its counts."""
        known, missed = Counter[str](), Counter[str]()
        for x, bag, chances in zip(X, bags, posteriors, strict=True):
            sayable = {symbol for word in x for symbol, p in self.share(word).items() if p >= share}
            symbols = set(bag[int(np.argmax(chances))].symbols())
            known.update(symbols)
            missed.update(symbols - sayable)
        return {symbol for symbol, n in missed.items() if n > 1 and n >= often * known[symbol]}

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
        return arrays, {"words": list(self.counts), "symbols": list(symbols)}

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
        self.counts, self._shares = {word: {} for word in words}, {}
        for (word, symbol), count in zip(cells.tolist(), counts.tolist(), strict=True):
            self.counts[words[word]][symbols[symbol]] = count
        self.totals = dict(zip(symbols, totals.tolist(), strict=True))


class _Links:
    """All (candidate, word, symbol) triples of some bags, as arrays.

    A link is a triple; a cell is a (candidate, word) pair, whose links lie side by side; bags are runs of
    candidates.
    """

    def __init__(self, X: Sequence[list[str]], bags: Sequence[list[MR]]) -> None:
        pairs: dict[tuple[str, str], int] = {}
        link_pair: list[int] = []
        cell_ends: list[int] = []
        cell_candidate: list[int] = []
        candidates = 0
        for x, bag in zip(X, bags, strict=True):
            for mr in bag:
                symbols = [EMPTY, *mr.symbols()]
                for word in x:
                    link_pair += [pairs.setdefault((word, symbol), len(pairs)) for symbol in symbols]
                    cell_ends.append(len(link_pair))
                    cell_candidate.append(candidates)
                candidates += 1
        self.pairs = list(pairs)
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

    def expect(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The E step: posteriors of the candidates, and expected counts of the pairs."""
        chances = t[self.link_pair]
        sums = np.bincount(self.link_cell, chances, len(self.cell_size))
        n = len(self.candidate_bag)
        score = np.bincount(self.cell_candidate, np.log(sums / self.cell_size), n)
        starts = np.concatenate([[0], self.bag_ends[:-1]])
        odds = np.exp(score - np.maximum.reduceat(score, starts)[self.candidate_bag])
        posteriors = odds / np.bincount(self.candidate_bag, odds)[self.candidate_bag]
        weight = posteriors[self.cell_candidate] / sums
        counts = np.bincount(self.link_pair, chances * weight[self.link_cell], len(t))
        return posteriors, counts
