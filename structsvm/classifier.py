"""`LaRankClassifier`: LaRank as a scikit-learn-style multiclass classifier."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from typing import Any, Self, cast

import numpy as np

from structsvm.guard import reading, reads, training
from structsvm.integrations.sklearn import Classifier, TrainedEstimator, column_names
from structsvm.kernels.functions import COEF0, DEGREE, GAMMA, gamma_value, is_kernel
from structsvm.optimizers.kernel import KernelLaRank
from structsvm.optimizers.larank import MOST_REPROCESS, SCHEDULES, LaRank
from structsvm.optimizers.parallel import ParallelLaRank, n_shards
from structsvm.options import RANDOM_STATE, check_options, is_function, option, with_options
from structsvm.problems.multiclass import Multiclass, best_columns
from structsvm.scored import PROBABILITY, ScoredClassifier, forget_calibration, with_calibration
from structsvm.validation import MOST_THREADS, check_matrix, check_sample_weight, class_factors
from structsvm.warm import WARM_START, can_continue, check_unchanged, fingerprint

# More epochs, or the adaptive schedule without a kernel, gain almost nothing on held-out data:
# `python -m benchmarks default-epochs`.
EPOCHS, KERNEL_EPOCHS = 3, 2
FEW, MOST_EPOCHS = 10_000, 50  # at least FEW visits in all, but at most MOST_EPOCHS epochs


@with_options
class LaRankClassifier(ScoredClassifier, TrainedEstimator, Classifier):
    """Multiclass SVM (Crammer and Singer's) trained by LaRank, online and with or without kernels.

        min ||w||^2 / 2 + C sum_i max_y (loss[y_i, y] + <w, Phi(x_i, y)> - <w, Phi(x_i, y_i)>)

    After fit: classes_, n_features_in_, n_iter_, coef_ and intercept_ (linear kernel), and the results of the
    optimizer (optimizer_): dual_, primal(), gap(), n_support_patterns_, n_support_vectors_, n_argmax_,
    n_kernels_ (other kernels), curve_.
    """

    C: float = option(
        default=1.0, kw_only=False, above=0, fixed_on_resume=True,
        help="The weight of the losses: a larger value fits the training data more closely.",
    )  # fmt: skip
    kernel: str | Callable[[Any, Any], Any] = option(
        default="linear", valid=is_kernel, fixed_on_resume=True,
        help="linear, rbf, poly, precomputed or a function of two matrices; see `KernelLaRank`.",
    )  # fmt: skip
    gamma: float | str = GAMMA
    degree: int = DEGREE
    coef0: float = COEF0
    schedule: str | None = option(
        default=None, choices=SCHEDULES, fixed_on_resume=True,
        help="The schedule of `LaRank`. The default is fixed, or adaptive with a kernel.",
    )  # fmt: skip
    n_reprocess: int = option(
        default=1, low=0, high=MOST_REPROCESS, fixed_on_resume=True,
        help="How often the fixed schedule reprocesses support patterns after each pattern.",
    )  # fmt: skip
    epochs: int | None = option(
        default=None, low=1,
        help="The passes of `fit` over the data. The default is 3, or 2 with a kernel (up to 50 for few "
        "rows). One pass is the online mode of the papers, which is enough for large data sets.",
    )  # fmt: skip
    tol: float | str | None = option(
        default=None, above=0, choices=("C",),
        help="Make passes until the duality gap is below this value, or below C for C, as in the papers.",
    )  # fmt: skip
    loss: Any = option(
        default=None, kept=False, fixed_on_resume=True,
        help="A matrix in the order of the sorted classes. The default is the 0-1 loss, which needs no "
        "matrix.",
    )  # fmt: skip
    output_features: Any = option(
        default=None, kept=False, fixed_on_resume=True,
        help="A row of numbers for each class; see `structsvm.problems.taxonomies`.",
    )  # fmt: skip
    class_weight: Any = option(
        default=None,
        help="A dict of classes and factors of C, where missing classes have the factor 1; or balanced, for "
        "`fit` only.",
    )  # fmt: skip
    fit_intercept: bool = option(
        default=True, fixed_on_resume=True, help="Add a constant feature; for the linear kernel only."
    )
    cache_size: float = option(
        default=500.0, above=0, fixed_on_resume=True, help="Megabytes for values of the kernel."
    )
    random_state: Any = RANDOM_STATE
    callback: Any = option(
        default=None, valid=is_function, kept=False,
        help="A function of a `Point`, called during training. If it returns a true value, training ends.",
    )  # fmt: skip
    jobs: int = option(
        default=1, low=0, high=MOST_THREADS, kept=False,
        help="The number of threads that train, 0 for all cores; for the linear kernel only.",
    )  # fmt: skip
    shards: int | None = option(
        default=None, low=1, fixed_on_resume=True, needs={"kernel": ("linear",)},
        help="The parts of the data that learn at the same time; see `ParallelLaRank`. The default is one "
        "for each thread, fewer for small data sets, and one for `partial_fit`. A seed and a number of "
        "shards give the same model with any number of threads.",
    )  # fmt: skip
    probability: bool = PROBABILITY
    warm_start: bool = WARM_START

    # -- training -------------------------------------------------------------------------------

    @with_calibration
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train from scratch, or continue with warm_start=True.

        If Ctrl-C or an exception in the callback interrupts it, the model does not change. With warm_start it
        keeps what it has learned.
        """
        check_options(self)
        columns = column_names(X)
        X, y = self._checked(X, y)
        weight = self._weights(y, sample_weight, self.class_weight, np.unique(y))
        rows = fingerprint(X, y, weight) if self.warm_start else None
        with training(self):
            shards = 1 if self.kernel != "linear" else n_shards(self.shards, self.jobs, X.shape[0])
            optimizer = self._optimizer(X, None, shards)
            if rows is not None and can_continue(self, rows):
                for name in ("epochs", "gap_tolerance", "callback"):
                    setattr(self.optimizer_, name, getattr(optimizer, name))
                optimizer = self.optimizer_.continue_fit()
            else:
                keeps = self.warm_start and self.kernel != "linear"  # a kernel machine borrows its rows
                optimizer.fit(X.copy() if keeps else X, y, weight)
            self._adopt(optimizer, X, rows)
            self._name_features(columns)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Make one pass over more data; pass all classes to the first call if its data lack some.

        If a later call is interrupted, the model keeps what that call has learned so far. Only the parameters
        epochs, tol, random_state, callback, jobs and class_weight may change between calls.
        """
        check_options(self)
        with training(self):
            return self._partial_fit(X, y, self._given_classes(classes), sample_weight)

    def _partial_fit(self, X: Any, y: Any, classes: np.ndarray | None, sample_weight: Any) -> Self:
        columns = column_names(X)
        if not self.__sklearn_is_fitted__():
            X, y = self._checked(X, y)
            optimizer = self._optimizer(X, classes)
            known = np.unique(y) if classes is None else classes
        else:
            check_unchanged(self)
            self._check_feature_names(X)
            columns = getattr(self, "feature_names_in_", None)
            X, y = self._checked(X, y, n_features=self.n_features_in_)
            optimizer, known = self.optimizer_, self.classes_
        weight = self._weights(y, sample_weight, self.class_weight, known)
        optimizer.callback = self.callback
        optimizer.partial_fit(X, y, weight)
        self._adopt(optimizer, X)
        self._name_features(columns)
        return self

    def _optimizer(self, X: Any, classes: Any, shards: int | None = None) -> LaRank:
        linear, shards = self.kernel == "linear", shards or self.shards or 1
        problem = Multiclass(
            classes=classes, loss=self.loss, output_features=self.output_features,
            fit_intercept=self.fit_intercept and linear,
        )  # fmt: skip
        passes = max(EPOCHS if linear else KERNEL_EPOCHS, min(MOST_EPOCHS, FEW // X.shape[0]))
        schedule = ("fixed" if linear else "adaptive") if self.schedule is None else self.schedule
        options = {
            "C": self.C, "schedule": schedule, "n_reprocess": self.n_reprocess,
            "epochs": passes if self.epochs is None and self.tol is None else self.epochs,
            "gap_tolerance": self.tol, "random_state": self.random_state, "callback": self.callback,
        }  # fmt: skip
        if linear and shards > 1:
            return ParallelLaRank(problem, shards=shards, jobs=self.jobs, **options)
        if linear:
            return LaRank(problem, **options)
        return KernelLaRank(
            problem, kernel=self.kernel, gamma=gamma_value(self.gamma, X), degree=self.degree,
            coef0=self.coef0, cache_size=self.cache_size, **options,
        )  # fmt: skip

    def _weights(self, y: np.ndarray, sample_weight: Any, class_weight: Any, known: np.ndarray) -> np.ndarray:
        """Sample weights times class weights."""
        weight = check_sample_weight(sample_weight, len(y))
        weight = weight * class_factors(y, class_weight, known)
        if not weight.any():
            raise ValueError("class_weight and sample_weight leave every sample with weight 0")
        return weight

    def _adopt(self, optimizer: LaRank, X: Any, rows: str | None = None) -> Self:
        self.optimizer_ = optimizer
        self._rows = rows
        forget_calibration(self)
        self.classes_ = self._problem.classes_
        self.n_features_in_ = X.shape[1]
        self.n_iter_ = optimizer.epochs_done
        # The parameters of training, which stay the same if you change the attributes; without the callback.
        self._fitted_params = {k: copy.copy(v) for k, v in self.get_params().items() if k != "callback"}
        return self

    def __getstate__(self) -> dict[str, Any]:
        """For pickles: a fitted model goes without its callback and its data, as its optimizer does."""
        fitted = {"callback": None, "_rows": None} if self.__sklearn_is_fitted__() else {}
        return super().__getstate__() | fitted

    @property
    def _problem(self) -> Multiclass:
        return cast(Multiclass, self.optimizer_.problem)

    # -- results --------------------------------------------------------------------------------

    def _inputs(self, X: Any) -> Any:
        if not self.__sklearn_is_fitted__():
            raise self.not_fitted()
        self._check_feature_names(X)
        return check_matrix(X, n_features=self.n_features_in_, owner=type(self).__name__)

    def _scores(self, X: Any) -> np.ndarray:
        return self._row_scores(self._inputs(X))

    def _row_scores(self, X: Any) -> np.ndarray:
        optimizer = self.optimizer_
        with reading(optimizer):
            return optimizer._space.scores(self._problem, optimizer._fitted(), X)

    _columns = _scores

    @reads
    def decision_function(self, X: Any) -> np.ndarray:
        """A score for each class; for two classes, the score of the second minus that of the first."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    @reads
    def predict(self, X: Any) -> np.ndarray:
        """The class with the highest score for each row."""
        X = self._inputs(X)
        return self.classes_[best_columns(X, len(self.classes_), self._row_scores)]

    def primal(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> float:
        """The primal objective on the data of `fit`, or on the given data, with the class weights of
        training.

        class_weight="balanced" means balanced on the given data.
        """
        return float(self._fitted_optimizer().primal(*self._given(X, y, sample_weight)))

    def gap(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> float:
        """primal - dual."""
        return float(self._fitted_optimizer().gap(*self._given(X, y, sample_weight)))

    def _given(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """Checked data for the primal, or nothing to use the data of `fit`."""
        self._fitted_optimizer()
        if (X is None) != (y is None):
            raise ValueError("X and y must be passed together; pass both, or neither to use the data of fit")
        if X is None:
            if sample_weight is not None:
                raise ValueError("sample_weight requires X and y; the data of fit have their own weights")
            return None, None, None
        X, y = self._checked(X, y, n_features=self.n_features_in_)
        return X, y, self._weights(y, sample_weight, self._fitted_params["class_weight"], self.classes_)

    @property
    @reads
    def coef_(self) -> np.ndarray:
        """Weights of the linear kernel, a row for each class."""
        return self._linear()[:, : self.n_features_in_]

    @property
    @reads
    def intercept_(self) -> np.ndarray:
        """Weights of the constant feature."""
        weights = self._linear()
        return weights[:, -1] if weights.shape[1] > self.n_features_in_ else np.zeros(len(weights))

    def _linear(self) -> np.ndarray:
        if not self.__sklearn_is_fitted__() or isinstance(self.optimizer_, KernelLaRank):
            raise AttributeError("coef_ and intercept_ exist only after fit with a linear kernel")
        return self._problem.class_weights(self.optimizer_.weights_).T

    # -- files ----------------------------------------------------------------------------------

    @reads
    def save(self, path: str | os.PathLike[str], *, training_state: bool = True) -> None:
        """Write a model file, with the parameters that the model was trained with.

        Without the training state the file of a linear model is smaller. After loading it, partial_fit starts
        from the weights but no longer revises the support patterns behind them. With other kernels the
        support patterns are the model, and training_state makes no difference.
        """
        from structsvm.classifier_file import save_classifier

        save_classifier(self, path, training_state=training_state)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file."""
        from structsvm.classifier_file import load_classifier

        return load_classifier(cls, path)
