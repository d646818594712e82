"""Naive twins of the optimizers: the papers' formulas over dense lists, all outputs enumerated, nothing fast.

Sums run from left to right in plain Python, as the compiled loops do, so that ties fall alike.
"""

from __future__ import annotations

import numpy as np

MASK = 2**64 - 1
TRUE = -1


class SplitMix:
    """splitmix64, as in _rng.pxd."""

    def __init__(self, state: int) -> None:
        self.state = state & MASK

    def next(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, n: int) -> int:
        return self.next() % n

    def uniform(self) -> float:
        return (self.next() >> 11) / 2.0**53


def shuffled(seed: int, epoch: int, items) -> list:
    order = list(items)
    rng = SplitMix(seed ^ ((epoch + 1) * 0xD1342543DE82EF95 & MASK))
    rng = SplitMix(rng.next())
    for k in range(len(order) - 1, 0, -1):
        other = rng.below(k + 1)
        order[k], order[other] = order[other], order[k]
    return order


def dot(a, b) -> float:
    total = 0.0
    for u, v in zip(a, b, strict=True):
        total += u * v
    return total


def margin(w, d) -> float:
    """<w, d> over the entries of d that are not zero, in the four sums that the compiled code keeps."""
    products = [u * v for u, v in zip(w, d, strict=True) if v != 0]
    whole = len(products) // 4 * 4
    sums = [0.0] * 4
    for k, product in enumerate(products):
        sums[k % 4 if k < whole else 0] += product
    return (sums[0] + sums[1]) + (sums[2] + sums[3])


def nonzeros(d) -> int:
    return sum(u != 0 for u in d)


class MulticlassData:
    """Rows of X with labels 0..k-1: every output of a pattern as (loss, difference), feature by feature."""

    def __init__(self, X, y, loss) -> None:
        self.X, self.y, self.loss = np.asarray(X, float), [int(c) for c in y], np.asarray(loss, float)
        self.n_classes = len(self.loss)
        self.n_weights = self.X.shape[1] * self.n_classes

    def difference(self, i: int, c: int) -> list[float]:
        d = np.zeros((self.X.shape[1], self.n_classes))
        d[:, self.y[i]] += self.X[i]
        d[:, c] -= self.X[i]
        return d.ravel().tolist()

    def find(self, i: int, w):
        """(loss, difference, multiply-adds) of the most violated output."""
        scores = [dot(self.X[i], w[c :: self.n_classes]) for c in range(self.n_classes)]
        y = self.y[i]
        best = max(range(self.n_classes), key=lambda c: self.loss[y, c] - (scores[y] - scores[c]))
        cost = nonzeros(self.X[i]) * self.n_classes
        return float(self.loss[y, best]), self.difference(i, best), cost

    def winner(self, i: int, w) -> int:
        scores = [dot(self.X[i], w[c :: self.n_classes]) for c in range(self.n_classes)]
        return scores.index(max(scores))


class NaiveLaRank:
    """LaRank as in Bordes' thesis, chapter 5, on margin re-scaling and L1 slacks.

    `support` lists the support patterns as [i, outputs], outputs as [alpha, loss, difference].
    The last member fills the gap of one that goes, as in the compiled lists: their order decides the draws.
    """

    def __init__(self, data, upper, *, tau, kappa, seed) -> None:
        self.data, self.upper, self.tau, self.kappa = data, list(upper), tau, kappa
        self.rng = SplitMix(seed)
        self.w = [0.0] * data.n_weights
        self.support: list = []
        self.dual = self.cost = 0.0
        self.n_argmax = 0
        self.rates = [1.0, 1.0, 1.0]

    # -- the three steps

    def process_new(self, i: int) -> None:
        if self.position(i) is None and self.upper[i] > 0:
            loss, d = self.look(i)
            v = loss - margin(self.w, d)
            if v > self.tau:
                self.support.append([i, [[0.0, loss, d]]])
                self.smo_step(len(self.support) - 1, TRUE, 0, v)

    def process_old(self, p: int) -> None:
        i, outputs = self.support[p]
        v = self.violations(outputs)
        a, b = self.giver(i, outputs, v), self.taker(v)
        loss, d = self.look(i)
        found = loss - margin(self.w, d)
        if a is None:
            return
        va, vb = self.value(v, a), self.value(v, b)
        if found > vb and found - va > self.tau:
            vb = found
            b = next((k for k, out in enumerate(outputs) if out[1:] == [loss, d]), None)
            if b is None:
                outputs.append([0.0, loss, d])
                b = len(outputs) - 1
        self.smo_step(p, a, b, vb - va)

    def optimize(self, p: int) -> None:
        i, outputs = self.support[p]
        v = self.violations(outputs)
        a, b = self.giver(i, outputs, v), self.taker(v)
        if a is not None:
            self.smo_step(p, a, b, self.value(v, b) - self.value(v, a))

    def smo_step(self, p: int, a: int, b: int, gap: float) -> None:
        if gap <= self.tau:
            return
        i, outputs = self.support[p]
        zero = [0.0] * len(self.w)
        da, db = (zero if k == TRUE else outputs[k][2] for k in (a, b))
        curvature = dot(da, da) + dot(db, db)
        if a != TRUE and b != TRUE:
            curvature -= 2 * dot(da, db)
            self.cost += nonzeros(da) + nonzeros(db)
        room = self.upper[i] - self.beta(outputs) if a == TRUE else outputs[a][0]
        step = min(gap / curvature, room) if curvature > 0 else room
        self.w = [u - step * v for u, v in zip(self.w, da, strict=True)]
        self.w = [u + step * v for u, v in zip(self.w, db, strict=True)]
        self.cost += nonzeros(da) + nonzeros(db)
        if a != TRUE:
            outputs[a][0] = 0.0 if step == room else outputs[a][0] - step
        if b != TRUE:
            outputs[b][0] += step
        self.dual += step * gap - 0.5 * step * step * curvature
        for k in range(len(outputs) - 1, -1, -1):
            if outputs[k][0] <= 0:
                outputs[k] = outputs[-1]
                outputs.pop()
        if not outputs:
            self.support[p] = self.support[-1]
            self.support.pop()

    # -- what they need

    def look(self, i: int):
        loss, d, cost = self.data.find(i, self.w)
        self.n_argmax += 1
        self.cost += cost
        return loss, d

    def position(self, i: int):
        return next((p for p, (j, _) in enumerate(self.support) if j == i), None)

    @staticmethod
    def beta(outputs) -> float:
        return dot([out[0] for out in outputs], [1.0] * len(outputs))

    def violations(self, outputs) -> list[float]:
        self.cost += sum(nonzeros(d) for _, _, d in outputs)
        return [loss - margin(self.w, d) for _, loss, d in outputs]

    @staticmethod
    def value(v, k: int) -> float:
        return 0.0 if k == TRUE else v[k]

    def giver(self, i: int, outputs, v):
        able = [TRUE] if self.beta(outputs) <= self.upper[i] * (1 - self.kappa) else []
        able += [k for k, out in enumerate(outputs) if out[0] >= self.kappa * self.upper[i]]
        return min(able, key=lambda k: self.value(v, k), default=None)

    def taker(self, v) -> int:
        return max([TRUE, *range(len(v))], key=lambda k: self.value(v, k))

    # -- schedules

    def pick(self) -> int:
        return self.rng.below(len(self.support))

    def burst(self) -> None:
        if self.support:
            for position in [self.pick() for _ in range(10)]:
                if position < len(self.support):
                    self.optimize(position)

    def fixed(self, i: int, n_reprocess: int) -> None:
        self.process_new(i)
        for _ in range(n_reprocess):
            if self.support:
                self.process_old(self.pick())
            self.burst()

    def adaptive(self, i: int, mu: float) -> None:
        """Draw steps until PROCESSNEW has taken pattern i."""
        while True:
            dual, cost, r = self.dual, self.cost, self.rates
            at = self.rng.uniform() * (r[0] + r[1] + r[2]) if self.support else -1.0
            operation = 0 if at < r[0] else 1 if at < r[0] + r[1] else 2
            if operation == 0:
                self.process_new(i)
            elif operation == 1:
                self.process_old(self.pick())
            else:
                self.burst()
            rate = (self.dual - dual) / max(self.cost - cost, 1.0)
            r[operation] = max(0.05 * rate + 0.95 * r[operation], mu * max(r))
            if operation == 0:
                return

    def passive_aggressive(self, i: int) -> None:
        p = self.position(i)
        if p is None:
            self.process_new(i)
        else:
            self.process_old(p)

    def sweep(self, i: int) -> None:
        """A later epoch of the adaptive schedule."""
        self.passive_aggressive(i)
        self.burst()


def naive_perceptron(data, order, weight):
    """(last w, mean of w after every pattern, updates): the mean summed up in full."""
    w, total, updates = np.zeros(data.n_weights), np.zeros(data.n_weights), 0
    for i in order:
        c = data.winner(i, w)
        if c != data.y[i] and weight[i] > 0:
            w = w + weight[i] * np.array(data.difference(i, c))
            updates += 1
        total += w
    return w, total / len(order), updates
