"""Taggers with scikit-learn's conventions: sentences in, lists of labels out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

from structsvm.integrations.sklearn import Estimator, sequence_tags
from taggers import training
from taggers.labelling import Labelling
from taggers.learning import Learning
from taggers.model import TaggerModel


class SequenceTagger(Estimator, Learning, Labelling):
    """Label the tokens of sentences with a structured SVM.

    X: sentences, each a list of str, of tuples of str (columns: word, part of speech, ...) or of features
    as python-crfsuite takes them (dicts, or lists of names); or a `Columns` read from a file. y: for each
    sentence its labels, None for a token without gold and a set for one with several allowed labels; with
    `Columns`, also the place of the label column.

    Whatever is None is chosen by the class (`DEFAULTS`):

    template: a name (conll2000, pos, chunk, ner, label), a file or text, see `taggers.features.template`.
    algorithm: larank, pa, perceptron or svmstruct. C: the SVM's; reprocess: LaRank's n_R.
    inference: exact (Viterbi) or greedy, with `order` labels before.
    epochs: passes of `fit`. cutoff: drop features seen less often in `fit`.
    labels: the scheme to learn in (IOB2, IOBES, ...), whatever that of y; "none" takes labels as they are.
    constrained: never predict labels that are out of place in the scheme.
    label_weight: {label or type: factor} of the loss where this is the right label.
    keep_names: keep the names of features in the model, for `inspect` (some 30 bytes each).
    patience: passes without a better score on X_dev before fit ends.
    callback: is called with a `TrainingPoint` (see `curve_`) now and then, and ends the training by returning
    True; its method `scored`, if it has one, with each score on X_dev.
    """

    DEFAULTS: ClassVar[dict[str, Any]] = {
        "template": "label", "algorithm": "larank", "inference": "exact", "order": None, "C": 0.1,
        "reprocess": None, "epochs": 2, "cutoff": 1, "labels": "none", "constrained": False,
    }  # fmt: skip

    def __init__(
        self,
        *,
        template: Any = None,
        algorithm: str | None = None,
        inference: str | None = None,
        order: int | None = None,
        C: float | None = None,
        reprocess: int | None = None,
        epochs: int | None = None,
        cutoff: int | None = None,
        labels: str | None = None,
        constrained: bool | None = None,
        label_weight: Mapping[str, float] | None = None,
        keep_names: bool = False,
        patience: int = 2,
        random_state: Any = 0,
        jobs: int = 1,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.template = template
        self.algorithm = algorithm
        self.inference = inference
        self.order = order
        self.C = C
        self.reprocess = reprocess
        self.epochs = epochs
        self.cutoff = cutoff
        self.labels = labels
        self.constrained = constrained
        self.label_weight = label_weight
        self.keep_names = keep_names
        self.patience = patience
        self.random_state = random_state
        self.jobs = jobs
        self.callback = callback

    def _setting(self, name: str) -> Any:
        value = getattr(self, name)
        value = self.DEFAULTS[name] if value is None else value
        if value is None:  # these follow from the inference
            greedy = self._setting("inference") == "greedy"
            value = {"order": 2 if greedy else 1, "reprocess": 1 if greedy else 5}[name]
        return value

    def _plain_parameters(self) -> dict[str, Any]:
        skipped = ("callback", "random_state", "template", "jobs")
        chosen = {
            name: value
            for name, value in self.get_params().items()
            if name not in skipped and value is not None
        }
        return chosen | {"class": type(self).__name__}

    @property
    def classes_(self) -> list[str]:
        """The labels, sorted."""
        return sorted(self._ready().names)

    @property
    def n_features_(self) -> int:
        return self._ready().n_features

    @property
    def curve_(self) -> list[training.TrainingPoint]:
        """The training as data: twenty points for each pass; none after `load`."""
        self._ready()
        if not hasattr(self, "optimizer_"):
            return []
        curve = training.Curve(getattr(self.optimizer_, "patterns", []))
        return [curve.point(point) for point in self.optimizer_.curve_]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        return sequence_tags()

    def save(self, path: str | os.PathLike[str], *, training_state: bool = False, **options: Any) -> None:
        """Write a model file; options are those of `TaggerModel.save`."""
        model = self._ready()
        if training_state:
            model.state = self._training_state()
        model.save(path, training_state=training_state, **options)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **changes: Any) -> Self:
        """Read a model file; parameters of the training can be changed."""
        model = TaggerModel.load(path)
        known = {name: value for name, value in model.parameters.items() if name in cls._parameters()}
        tagger = cls(**{**known, "template": model.template, **changes})
        tagger.model_ = model
        return tagger
