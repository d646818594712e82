"""The binary machines as the papers write them, on a whole kernel matrix: slow, and nothing but NumPy."""

from __future__ import annotations

import numpy as np


def curved(n=120, seed=0, noise=0.5):
    """Two classes divided by a wave."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(np.sin(2 * X[:, 0]) + X[:, 1] + noise * rng.normal(size=n) > 0, 1.0, -1.0)


def separable(n=300, seed=0):
    X, _ = curved(n, seed, 0)
    height = np.sin(2 * X[:, 0]) + X[:, 1]
    return X[np.abs(height) > 0.3], np.sign(height[np.abs(height) > 0.3])


def rbf(X, gamma):
    return np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(-1))


def in_lanes(row, x):
    """The compiled dot product: eight sums, so that ties fall alike."""
    lanes = np.zeros(8)
    whole = len(row) // 8 * 8
    for k in range(0, whole, 8):
        lanes += row[k : k + 8] * x[k : k + 8]
    for k in range(whole, len(row)):
        lanes[0] += row[k] * x[k]
    total = 0.0
    for lane in lanes:
        total += lane
    return total


class LaSVMTwin:
    """Algorithms 11 and 12; S in the order of insertion, the last one taking the place of one that leaves.

    A step makes the gradients of its pair equal, so ties are the rule: f is added up as compiled code does.
    """

    def __init__(self, K, y, C, tau):
        self.K, self.y, self.tau, self.S = K, y, tau, []
        self.A, self.B = np.minimum(0, C * y), np.maximum(0, C * y)
        self.alpha, self.f, self.n_active = np.zeros(len(y)), np.zeros(len(y)), None

    def g(self, k):
        return self.y[k] - self.f[k]

    @property
    def active(self):
        return self.S[: self.n_active]

    def extremes(self):
        up = [s for s in self.active if self.alpha[s] < self.B[s]]
        down = [s for s in self.active if self.alpha[s] > self.A[s]]
        return max(up, key=self.g, default=None), min(down, key=self.g, default=None)

    def search(self, i, j):
        K, alpha = self.K, self.alpha
        step = (self.g(i) - self.g(j)) / (K[i, i] + K[j, j] - 2 * K[i, j])
        step = min(step, self.B[i] - alpha[i], alpha[j] - self.A[j])
        alpha[i], alpha[j] = (
            self.B[i] if step == self.B[i] - alpha[i] else alpha[i] + step,
            self.A[j] if step == alpha[j] - self.A[j] else alpha[j] - step,
        )
        self.f[self.active] += step * (K[i, self.active] - K[j, self.active])

    def process(self, k):
        i, j = self.extremes()
        partner = j if self.y[k] > 0 else i
        self.f[k] = in_lanes(self.K[k, self.S], self.alpha[self.S])
        if partner is None:
            self.S.append(k)
            return
        i, j = (k, partner) if self.y[k] > 0 else (partner, k)
        if self.g(i) - self.g(j) > self.tau:
            self.S.append(k)
            self.search(i, j)

    def reprocess(self):
        i, j = self.extremes()
        if i is None or j is None or self.g(i) - self.g(j) <= self.tau:
            return False
        self.search(i, j)
        i, j = self.extremes()
        for place in range(len(self.S) - 1, -1, -1):
            s = self.S[place]
            if self.alpha[s] == 0 and (self.g(s) >= self.g(i) if self.y[s] < 0 else self.g(s) <= self.g(j)):
                self.S[place] = self.S[-1]
                self.S.pop()
        return True

    def finish(self, limit):
        """Second-order steps among those that can move; whether no pair of S violates."""
        i, j = self.extremes()
        if self.g(i) - self.g(j) <= self.tau:
            return True
        self.rest(self.g(i), self.g(j))
        before, K = self.alpha.copy(), self.K
        for _ in range(limit):
            i, j = self.extremes()
            if self.g(i) - self.g(j) <= self.tau:
                break
            down = [s for s in self.active if self.alpha[s] > self.A[s] and self.g(s) < self.g(i)]
            curvature = {s: max(K[i, i] + K[s, s] - 2 * K[i, s], 1e-12) for s in down}
            self.search(i, max(down, key=lambda s: (self.g(i) - self.g(s)) ** 2 / curvature[s]))
        resting, change = self.S[self.n_active :], 0.0
        for s in self.active:
            change = change + (self.alpha[s] - before[s]) * K[s, resting]
        self.f[resting] += change
        self.n_active = None
        i, j = self.extremes()
        return self.g(i) - self.g(j) <= self.tau

    def rest(self, high, low):
        """Blatant non-support vectors leave; what is at C and would rather be above it goes to the end."""

        def idle(s):
            outside = self.g(s) <= low if self.y[s] > 0 else self.g(s) >= high
            beyond = self.g(s) >= high if self.y[s] > 0 else self.g(s) <= low
            return outside if self.alpha[s] == 0 else beyond and self.alpha[s] in (self.A[s], self.B[s])

        moving, resting = [s for s in self.S if not idle(s)], [s for s in self.S if idle(s)]
        last = self.S.index(moving[-1]) + 1
        if len(moving) < 0.6 * last:
            self.S = moving + [s for s in resting if self.alpha[s] != 0]
            last = len(moving)
        self.n_active = last

    @property
    def bias(self):
        i, j = self.extremes()
        return 0.0 if i is None or j is None else (self.g(i) + self.g(j)) / 2


def perceptron_twin(K, y, order, *, margin, budget=None, C=None):
    """Algorithms 2, 4 and, with C, 3: alpha after the visits."""
    alpha = np.zeros(len(y))
    for t in order:
        f = alpha @ K[t]
        if y[t] * f > margin:
            continue
        alpha[t] += y[t] * (1 if C is None else min(C, (1 - y[t] * f) / K[t, t]))
        S = np.flatnonzero(alpha)
        if budget is not None and len(S) > budget:
            alpha[max(S, key=lambda i: y[i] * (alpha @ K[i] - alpha[i] * K[i, i]))] = 0
    return alpha


def huller_update(K, y, alpha, k):
    """Algorithm 9, without the three scalars; alpha is positive."""
    same, other = y == y[k], y != y[k]
    if not alpha[same].any():
        alpha[k] = 1.0
        return
    own, far = np.where(same, alpha, 0), np.where(other, alpha, 0)
    length = own @ K @ own + K[k, k] - 2 * own @ K[k]
    if length <= 1e-12:
        return
    step = (own @ K @ own - own @ K @ far - own @ K[k] + far @ K[k]) / length
    step = min(1.0, step if alpha[k] == 1 else max(-alpha[k] / (1 - alpha[k]), step))
    if alpha[k] == 0 and step < 0:
        return
    alpha[same] *= 1 - step
    alpha[k] += step
    alpha[k] = 0.0 if alpha[k] < 1e-15 else alpha[k]


def sgdqn_twin(X, y, order, *, loss, lam, t0, skip, second_order):
    """Algorithm 8: w and the diagonal of B; the ratio 0 / 0 is 1 / lam, and B waits for a step."""
    slope = {
        "hinge": lambda m: -1.0 if m < 1 else 0.0,
        "squared_hinge": lambda m: min(m - 1, 0.0),
    }[loss]
    w, B, count, update, estimates = np.zeros(X.shape[1]), np.full(X.shape[1], 1 / lam), skip, False, 0

    def gradient(w, i):
        return lam * w + slope(y[i] * (w @ X[i])) * y[i] * X[i]

    for t, i in enumerate(order):
        before = w.copy()
        w = w - slope(y[i] * (w @ X[i])) * y[i] * B * X[i] / (t + t0)
        if update and np.any(w != before):
            p, moved = gradient(w, i) - gradient(before, i), w - before
            ratio = np.array([m / q if m else 1 / lam for m, q in zip(moved, p, strict=True)])
            B = np.maximum(B + min(1, 2 / (t0 / skip + estimates)) * (ratio - B), 1e-2 / lam)
            estimates, update = estimates + 1, False
        count -= 1
        if count <= 0:
            w = w - skip * lam / (t + t0) * B * w
            count, update = skip, second_order
    return w, B
