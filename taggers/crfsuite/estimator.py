"""The estimator of sklearn-crfsuite."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, Self

import numpy as np

from structsvm.integrations.sklearn import Estimator, sequence_tags
from taggers.crfsuite.metrics import flat_accuracy_score
from taggers.crfsuite.tagger import ParsedDump, Tagger
from taggers.crfsuite.trainer import Trainer, say_once

NAMES = {  # of parameters, where they differ from those of the trainer
    "min_freq": "feature.minfreq",
    "all_possible_states": "feature.possible_states",
    "all_possible_transitions": "feature.possible_transitions",
    "calibration_eta": "calibration.eta",
    "calibration_rate": "calibration.rate",
    "calibration_samples": "calibration.samples",
    "calibration_candidates": "calibration.candidates",
    "calibration_max_trials": "calibration.max_trials",
    "pa_type": "type",
}
OWN = ("algorithm", "verbose", "model_filename", "keep_tempfiles", "trainer_cls")


class CRF(Estimator):
    """Label sequences of feature dicts, with the parameters and attributes of sklearn_crfsuite.CRF.

    `taggers.crfsuite.Trainer` describes the algorithms and their parameters; its `help` says which have no
    effect. model_filename: the model is written to this file, or read from it if it exists.
    """

    training_log_: Any = None
    _content: bytes | None = None  # of the model file, without a name for it
    _tagger: Tagger | None = None
    _info: ParsedDump | None = None
    _failed = False  # the last training, so that the file of an older model does not count

    def __init__(
        self,
        algorithm: str | None = None,
        min_freq: float | None = None,
        all_possible_states: bool | None = None,
        all_possible_transitions: bool | None = None,
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        num_memories: int | None = None,
        epsilon: float | None = None,
        period: int | None = None,
        delta: float | None = None,
        linesearch: str | None = None,
        max_linesearch: int | None = None,
        calibration_eta: float | None = None,
        calibration_rate: float | None = None,
        calibration_samples: float | None = None,
        calibration_candidates: int | None = None,
        calibration_max_trials: int | None = None,
        pa_type: int | None = None,
        c: float | None = None,
        error_sensitive: bool | None = None,
        averaging: bool | None = None,
        variance: float | None = None,
        gamma: float | None = None,
        verbose: bool = False,
        model_filename: str | os.PathLike[str] | None = None,
        keep_tempfiles: bool = False,
        trainer_cls: Any = None,
    ) -> None:
        self.algorithm = algorithm
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.num_memories = num_memories
        self.epsilon = epsilon
        self.period = period
        self.delta = delta
        self.linesearch = linesearch
        self.max_linesearch = max_linesearch
        self.calibration_eta = calibration_eta
        self.calibration_rate = calibration_rate
        self.calibration_samples = calibration_samples
        self.calibration_candidates = calibration_candidates
        self.calibration_max_trials = calibration_max_trials
        self.pa_type = pa_type
        self.c = c
        self.error_sensitive = error_sensitive
        self.averaging = averaging
        self.variance = variance
        self.gamma = gamma
        self.verbose = verbose
        self.model_filename = model_filename
        self.keep_tempfiles = keep_tempfiles
        self.trainer_cls = trainer_cls

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> Self:
        """Train on sequences of items with their labels; score each iteration on any held-out ones."""
        if (X_dev is None) != (y_dev is None):
            raise ValueError("pass both X_dev and y_dev, or neither")
        if self.keep_tempfiles:
            say_once("keep_tempfiles has no effect: a model without a file name is kept in memory")
        self._tagger = self._info = self._content = self.training_log_ = None
        self._failed = True
        own = {NAMES.get(name, name): value for name, value in self.get_params().items() if name not in OWN}
        given = {name: value for name, value in own.items() if value is not None}
        make = self.trainer_cls or Trainer
        trainer = make(algorithm=self.algorithm, params=given, verbose=self.verbose)
        learned = 0
        for group, sequences in enumerate([(X, y), *([] if X_dev is None else [(X_dev, y_dev)])]):
            xs, ys = map(list, sequences)
            if len(xs) != len(ys):
                raise ValueError(f"{'X_dev' if group else 'X'} has {len(xs)} sequences, but "
                                 f"{'y_dev' if group else 'y'} has {len(ys)}")  # fmt: skip
            for xseq, yseq in zip(xs, ys, strict=True):
                trainer.append(xseq, yseq, group)
                learned += group == 0 and len(yseq) > 0
        if not learned:
            raise ValueError("there are no sequences to learn from")
        with tempfile.TemporaryDirectory() as folder:
            path = self.model_filename or Path(folder, "model")
            trainer.train(str(path), holdout=-1 if X_dev is None else 1)
            if self.model_filename is None:
                self._content = Path(path).read_bytes()
        self.training_log_ = getattr(trainer, "logparser", None)
        self._failed = False
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The labels of each sequence, as an array of lists.

        As in sklearn-crfsuite, sequences of equal length give an array with two dimensions.
        """
        tagger = self._fitted()
        return np.array([tagger.tag(xseq) for xseq in X], dtype=object)

    def predict_single(self, xseq: Any) -> list[str]:
        """The labels of one sequence."""
        return self._fitted().tag(xseq)

    def predict_marginals(self, X: Any) -> np.ndarray:
        """The probability of each label of each item, as an array of lists of dicts.

        As in sklearn-crfsuite, sequences of equal length give an array with two dimensions.
        """
        return np.array([self.predict_marginals_single(xseq) for xseq in X], dtype=object)

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        """The probability of each label of each item of one sequence."""
        return self._fitted().marginals(xseq)

    def score(self, X: Any, y: Any) -> float:
        """The share of items whose label is right."""
        return float(flat_accuracy_score(y, self.predict(X)))

    def _fitted(self) -> Tagger:
        tagger = self.tagger_
        if tagger is None:
            raise self.not_fitted()
        return tagger

    @property
    def tagger_(self) -> Tagger | None:
        """The tagger of the model; None before training, after one that failed, and without the file."""
        if self._tagger is None and (self._content is not None or self._has_file()):
            tagger = Tagger()
            if self._content is not None:
                tagger.open_inmemory(self._content)
            else:
                tagger.open(str(self.model_filename))
            self._tagger = tagger
        return self._tagger

    def _has_file(self) -> bool:
        return not self._failed and self.model_filename is not None and os.path.exists(self.model_filename)

    def _parsed(self) -> ParsedDump | None:
        if self._info is None and self.tagger_ is not None:
            self._info = self.tagger_.info()
        return self._info

    @property
    def classes_(self) -> list[str] | None:
        """The labels."""
        return None if self.tagger_ is None else self.tagger_.labels()

    @property
    def size_(self) -> int | None:
        """The size of the model file in bytes."""
        found = self._parsed()
        return None if found is None else int(found.header["size"])

    @property
    def num_attributes_(self) -> int | None:
        """The number of attributes."""
        found = self._parsed()
        return None if found is None else int(found.header["num_attrs"])

    @property
    def attributes_(self) -> list[str] | None:
        """The attributes, by their numbers."""
        found = self._parsed()
        return None if found is None else list(found.attributes)

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """The weight of each pair (attribute, label)."""
        found = self._parsed()
        return None if found is None else found.state_features

    @property
    def transition_features_(self) -> dict[tuple[str, str], float] | None:
        """The weight of each pair (label before, label)."""
        found = self._parsed()
        return None if found is None else found.transitions

    def __getstate__(self) -> dict[str, Any]:
        content = self._content
        if content is None and self.model_filename is not None and (self._tagger or self._has_file()):
            content = Path(self.model_filename).read_bytes()
        return dict(vars(self), _tagger=None, _info=None, _content=content)

    def __sklearn_is_fitted__(self) -> bool:
        return self.tagger_ is not None

    def __sklearn_tags__(self) -> Any:
        return sequence_tags()
