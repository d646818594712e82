"""`LaSVMClassifier`: LASVM, online and with active selection of examples."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np

from structsvm.binary._base import CLASS_WEIGHT
from structsvm.binary._kernel_machine import BLOCK, KernelMachine
from structsvm.binary._lasvm import LaSVM
from structsvm.binary._selection import SELECTIONS, chosen
from structsvm.guard import reads, training
from structsvm.kernels.functions import Inputs
from structsvm.options import is_function, option, with_options
from structsvm.scored import PROBABILITY, ScoredClassifier, forget_calibration
from structsvm.threads import in_slices
from structsvm.training import ConvergenceWarning
from structsvm.validation import check_count, check_matrix, check_seed
from structsvm.warm import WARM_START

STEPS = 1000  # REPROCESS steps between two checks for Ctrl-C
MOST_STEPS = 1_000_000  # of the finishing step, and 100 more for each support vector


@with_options
class LaSVMClassifier(ScoredClassifier, KernelMachine):
    """SVM with kernel and bias, trained by LASVM (Bordes, Ertekin, Weston and Bottou 2005).

        min ||w||^2 / 2 + C sum_i max(0, 1 - y_i (<w, Phi(x_i)> + b))

    For each example, PROCESS adds it to the expansion if it violates the margin. Then REPROCESS improves the
    expansion once and removes useless support vectors. At the end, `finish` repeats REPROCESS until no pair
    violates by more than tau. One epoch comes close to the exact solution; more epochs converge to it. An
    iteration costs one kernel value for each support vector. cache_size limits the memory.

    It differs from Algorithms 11 to 13 of the thesis in three ways. An example that violates no constraint
    never enters the expansion, not even until the next REPROCESS. With selection="random", no examples of
    each class are added before the first iteration. `finish` chooses the second example of a pair by its
    expected gain, as libsvm does.

    With another `selection` than "random", LASVM looks at a few random examples and takes one of them:

    * "gradient": the most misclassified of `sample` random examples.
    * "active": the one of `sample` random examples that is nearest to the boundary; this needs no labels.
    * "autoactive": as "active", but samples until five examples lie within the margin, at most 100.

    All except "random" stop after `max_labels` examples. The active ones also stop when no remaining example
    lies within the margin.

    With more than two classes, one model for each class separates it from the rest, and the highest f wins.
    `estimators_` holds these models, in the order of classes_; the callback gets the one that is trained.

    After fit: classes_, n_iter_ (passes over data), support_vectors_, dual_coef_ and intercept_ (two
    classes), estimators_ (more classes), dual_, delta_, n_labels_ (examples taken), n_kernels_, n_steps_,
    n_support_vectors_.
    """

    _bounded = True
    _multiclass = True

    C: float = option(
        default=1.0, kw_only=False, above=0, fixed_on_resume=True, help="The weight of the losses."
    )
    selection: str = option(
        default="random", choices=SELECTIONS,
        help="How to select the next example; random: all examples in random order.",
    )  # fmt: skip
    sample: int = option(default=50, low=1, help="The examples that a selection looks at.")
    max_labels: int | None = option(default=None, low=1, help="The largest number of examples to take.")
    tau: float = option(
        default=1e-3, above=0, fixed_on_resume=True, help="The violation of a pair that is tolerated."
    )
    delta_max: float | None = option(
        default=None, above=0, fixed_on_resume=True,
        help="Repeat REPROCESS in each iteration until the uncertainty of the bias is below this value.",
    )  # fmt: skip
    finish_fit: bool = option(default=True, help="Whether `fit` ends with `finish`.")
    class_weight: Any = CLASS_WEIGHT
    callback: Callable[[Any], Any] | None = option(
        default=None, valid=is_function, kept=False,
        help="A function that is called after each block of examples, with a model that can predict and be "
        "copied.",
    )  # fmt: skip
    probability: bool = PROBABILITY
    warm_start: bool = WARM_START
    _seen: np.ndarray | None = None  # the examples that earlier calls of fit took, with warm_start

    # -- training -------------------------------------------------------------------------------

    def _bound(self) -> float:
        return self.C

    def _machine(self, inputs: Inputs, seed: int) -> LaSVM:
        most = np.inf if self.delta_max is None else self.delta_max
        return LaSVM(inputs, tau=self.tau, delta_max=most, cache_mb=self.cache_size, seed=seed)

    def _encoded(self, y: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """Labels -1 and +1; with more than two classes, a row for each of them."""
        if len(classes) == 2:
            return super()._encoded(y, classes)
        return np.where(y == classes[:, None], 1.0, -1.0)

    def _fit(self, X: Any, labels: np.ndarray, weight: np.ndarray) -> None:
        if self.warm_start:
            X = X.copy()  # the machines borrow it for the next fit
        if labels.ndim == 1:
            super()._fit(X, labels, weight)
            return
        self.estimators_ = [self._against_the_rest(X) for _ in labels]
        for one, signs in zip(self.estimators_, labels, strict=True):
            KernelMachine._fit(one, X, signs, weight)
        self.n_labels_: int = sum(one.n_labels_ for one in self.estimators_)

    def _fit_again(self, X: Any, labels: np.ndarray, weight: np.ndarray) -> None:
        if labels.ndim == 1:
            self._train(labels, self._rng)
            return
        for one, signs in zip(self.estimators_, labels, strict=True):
            one.set_params(**self.get_params() | {"probability": False})._fit_again(X, signs, weight)
        self.n_labels_ = sum(one.n_labels_ for one in self.estimators_)

    def _continue(self, X: Any, labels: np.ndarray, weight: np.ndarray, first: bool) -> None:
        if labels.ndim == 1:
            super()._continue(X, labels, weight, first)
            return
        if first:
            self.estimators_ = [self._against_the_rest(X) for _ in labels]
        for one, signs in zip(self.estimators_, labels, strict=True):
            one._continue(X, signs, weight, first)

    def _against_the_rest(self, X: Any) -> LaSVMClassifier:
        """An untrained model for one class."""
        return type(self)(**self.get_params() | {"probability": False})._prepared(X, np.array([-1, 1]))

    def _machines(self) -> list[Any]:
        self._check_fitted()
        return [one.machine_ for one in self.estimators_] if len(self.classes_) > 2 else [self.machine_]

    def _train(self, labels: np.ndarray, rng: np.random.Generator) -> None:
        seen = np.zeros(len(labels), dtype=bool) if self._seen is None else self._seen
        for _ in range(self.epochs):
            for part in self._blocks(labels, rng):
                self.machine_.learn(part)
                seen[part] = True
                self.n_labels_ = int(seen.sum())
                if self.callback is not None:
                    self.callback(self)
        if self.warm_start:
            self._seen = seen
        if self.finish_fit:
            self._finish(self.machine_)

    def _blocks(self, labels: np.ndarray, rng: np.random.Generator) -> Iterable[np.ndarray]:
        """The examples to take, block by block."""
        most = self.max_labels or len(labels)
        if self.selection == "random":
            return in_slices(rng.permutation(len(labels))[:most], BLOCK)
        return chosen(self.machine_, labels, rng, kind=self.selection, sample=self.sample, most=most)

    def finish(self) -> Self:
        """Make the finishing step, which partial_fit omits: repeat REPROCESS until no pair in S violates."""
        machines = self._machines()
        with training(self):
            for machine in machines:
                self._finish(machine)
            forget_calibration(self)
        return self

    def _finish(self, machine: Any) -> None:
        most = MOST_STEPS + 100 * machine.rows.n
        for _ in range(0, most, STEPS):
            if machine.finish(STEPS):
                return
        warnings.warn(
            f"finishing LASVM stopped after {most:,} REPROCESS with delta_ = {machine.delta:.3g}, above "
            f"tau = {self.tau:g}: scale the inputs, or take a smaller C or a larger tau",
            ConvergenceWarning,
            stacklevel=3,
        )

    # -- active learning ------------------------------------------------------------------------

    @reads
    def query(  # type: ignore[override]
        self, pool: Any, n: int = 1, *, sample: int | None = None
    ) -> np.ndarray:
        """Return the positions of unlabelled patterns in a pool that should be labelled next.

        These are at most n patterns within the margin, the nearest to the boundary first (with more than two
        classes: to any boundary). If there are none, you can stop labelling. An untrained
        model returns random rows.

        Parameters
        ----------
        sample
            Consider only this many random rows.
        """
        check_count(n=n, low=1)
        fitted = self.__sklearn_is_fitted__()
        width = self.n_features_in_ if fitted else None
        pool = check_matrix(pool, n_features=width, owner=type(self).__name__, empty=True)
        rng = np.random.default_rng(check_seed(self.random_state))
        rows = np.arange(pool.shape[0])
        if sample is not None:
            check_count(sample=sample, low=1)
            rows = rng.permutation(len(rows))[:sample]
        if not fitted or not len(rows):
            return rng.permutation(rows)[:n]
        distances = np.abs(self._values(pool[rows])).reshape(len(rows), -1)
        room = (1 + np.array([machine.delta for machine in self._machines()]) / 2) - distances
        nearest = np.argsort(distances.min(axis=1), kind="stable")[:n]
        return rows[nearest[room[nearest].max(axis=1) > 0]]

    # -- results --------------------------------------------------------------------------------

    def _values(self, X: Any) -> np.ndarray:
        if len(self.classes_) == 2:
            return super()._values(X)
        return np.stack([one._values(X) for one in self.estimators_], axis=1)

    @property
    @reads
    def dual_(self) -> float:
        """The dual objective, summed over the models of all classes."""
        return float(sum(machine.dual for machine in self._machines()))

    @property
    @reads
    def delta_(self) -> float:
        """The uncertainty of the bias, the largest of all models; at most tau after the finishing step."""
        return float(max(machine.delta for machine in self._machines()))
