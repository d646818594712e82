"""The trainer of python-crfsuite, over our conditional random fields, perceptron and SVMs."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np

from structsvm.optimizers.crf import CRF, Progress
from structsvm.problems.sequence import SequenceLabels
from structsvm.validation import meant
from taggers import options
from taggers.crfsuite._logparser import TrainLogParser
from taggers.crfsuite.items import ItemSequence, flat_items
from taggers.crfsuite.parameters import ALIASES, PARAMETERS
from taggers.features.extract import KeyTable, encode_dicts
from taggers.features.feature_names import name_rows
from taggers.features.space import FeatureSpace
from taggers.labels.space import LabelSpace
from taggers.model import TaggerModel
from taggers.tagger import SequenceTagger

TITLES = {
    "lbfgs": "Stochastic passes, then L-BFGS",
    "l2sgd": "Stochastic passes, then L-BFGS",
    "ap": "Averaged perceptron",
    "pa": "Passive aggressive",
    "arow": "LaRank instead of AROW",
}
PASSES = 5  # of stochastic steps, which count as iterations
SAID: set[str] = set()  # about parameters, once in a process


class BaseTrainer:
    """Collect labelled sequences, and train a model on them.

    Parameters
    ----------
    algorithm : lbfgs, l2sgd, ap, pa or arow. The first two train a conditional random field. arow is not
        implemented; LaRank is used instead.
    params : the training parameters, see `params` and `help`.
    verbose : print the messages of the training.
    """

    verbose = True

    def __new__(cls, *args: Any, **options: Any) -> Self:
        trainer = super().__new__(cls)  # a subclass need not call our __init__
        trainer.clear()
        trainer.select("lbfgs")
        return trainer

    def __init__(
        self, algorithm: str | None = None, params: Mapping[str, Any] | None = None, verbose: bool = True
    ) -> None:
        self.verbose = verbose
        if algorithm is not None:
            self.select(algorithm)
        self.set_params(params or {})

    def message(self, message: str) -> None:
        """Receive the messages of the training; print them if `verbose` is true."""
        if self.verbose:
            print(message, end="")

    def append(self, xseq: Any, yseq: Sequence[str], group: int = 0) -> None:
        """Add a sequence of items with their labels; `group` selects held-out sequences, see `train`."""
        items = xseq.items() if isinstance(xseq, ItemSequence) else list(xseq)
        labels = [label.decode() if isinstance(label, bytes) else label for label in yseq]
        if len(items) != len(labels):
            raise ValueError(f"sequence {len(self._data)} has {len(items)} items, but {len(labels)} labels")
        for label in labels:
            if not isinstance(label, str):
                raise TypeError(f"a label must be a str, got {label!r}")
        self._data.append((items, labels, group))

    def clear(self) -> None:
        """Remove all sequences."""
        self._data: list[tuple[list[Any], list[str], int]] = []

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose the algorithm; its parameters get their defaults."""
        name = ALIASES.get(algorithm.lower(), algorithm.lower())
        if name not in PARAMETERS or type != "crf1d":
            known = ", ".join(PARAMETERS)
            raise ValueError(f"algorithm must be one of {known}, and type crf1d; got {algorithm!r}, {type!r}")
        self.algorithm = name
        self._values = {key: one.default for key, one in PARAMETERS[name].items()}

    def params(self) -> list[str]:
        """The names of the parameters of the algorithm."""
        return list(self._values)

    def help(self, name: str) -> str:
        """Return what a parameter does."""
        self._check(name)
        return PARAMETERS[self.algorithm][name].help

    def get(self, name: str) -> Any:
        """The value of a parameter."""
        self._check(name)
        return self._values[name]

    def set(self, name: str, value: Any) -> None:
        """Set a parameter."""
        self._check(name)
        self._values[name] = PARAMETERS[self.algorithm][name].read(value)

    def get_params(self) -> dict[str, Any]:
        """The values of all parameters."""
        return dict(self._values)

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Set several parameters."""
        for name, value in params.items():
            self.set(name, value)

    def _check(self, name: str) -> None:
        if name not in self._values:
            raise ValueError(f"{self.algorithm} has no parameter {name!r}{meant(name, self._values)}")

    def _before_train(self) -> None:
        pass

    def train(self, model: str | os.PathLike[str], holdout: int = -1) -> None:
        """Train, and write the model to a file of structsvm, unless its name is empty.

        holdout: the group of sequences that are not learned, but on which each iteration is scored.
        """
        self._before_train()
        self._say_what_has_no_effect()
        learned = [(x, y) for x, y, group in self._data if group != holdout and x]
        held_out = [(x, y) for x, y, group in self._data if group == holdout and x]
        if not learned:
            warnings.warn("there are no sequences to learn from, so no model is written", stacklevel=2)
            return
        if holdout >= 0:
            self.message(f"Holdout group: {holdout + 1}\n")
            self.message("\n")
        start = time.perf_counter()
        if self.algorithm in ("lbfgs", "l2sgd"):
            trained = self._train_field(learned, held_out, start)
        else:
            trained = self._train_tagger(learned, held_out, start)
        self.message(f"Total seconds required for training: {time.perf_counter() - start:.3f}\n")
        self.message("\n")
        start = time.perf_counter()
        self.message("Storing the model\n")
        self.message(f"Number of active features: {len(trained.weights.cells)}\n")
        if model:
            trained.save(model)
        self.message(f"Seconds required: {time.perf_counter() - start:.3f}\n")
        self.message("\n")

    def _say_what_has_no_effect(self) -> None:
        table = PARAMETERS[self.algorithm]
        idle = [name for name, value in self._values.items() if not table[name].used]
        said = [f"{name} has no effect with {self.algorithm}" for name in idle
                if self._values[name] != table[name].default]  # fmt: skip
        if self.algorithm == "arow":
            said.append("AROW is not implemented; LaRank is used instead")
        if self.algorithm not in ("lbfgs", "l2sgd") and self._values["feature.minfreq"] > 1:
            said.append("feature.minfreq counts a feature with all labels together")
        for text in said:
            say_once(text)

    def _describe(self, n_features: int, start: float) -> None:
        """The messages before the first iteration."""
        features = {k: v for k, v in self._values.items() if k.startswith("feature.")}
        self.message("Feature generation\n")
        self.message("type: CRF1d\n")
        for name, value in features.items():
            self.message(f"{name}: {float(value) if name == 'feature.minfreq' else int(value)}\n")
        self.message(f"Number of features: {n_features}\n")
        self.message(f"Seconds required: {time.perf_counter() - start:.3f}\n")
        self.message("\n")
        self.message(f"{TITLES[self.algorithm]}\n")
        for name, value in self._values.items():
            if name not in features:
                self.message(f"{name}: {value}\n")
        self.message("\n")

    def _iteration(self, number: int, figures: Mapping[str, str], scores: Iterator[str]) -> None:
        self.message(f"***** Iteration #{number} *****\n")
        for name, value in figures.items():
            self.message(f"{name}: {value}\n")
        for line in scores:
            self.message(line)
        self.message("\n")

    def _train_field(self, learned: Any, held_out: Any, start: float) -> TaggerModel:
        """A conditional random field."""
        table, values = KeyTable(), self._values
        X = encode_dicts([x for x, _ in learned], table, grow=True)
        labels = list(dict.fromkeys(label for _, y in learned for label in y))
        number = {label: k for k, label in enumerate(labels)}
        codes = np.array([number[label] for _, y in learned for label in y], np.int32)
        names = dict.fromkeys(name for x, _ in learned for item in flat_items(x) for name in item)
        known = name_rows(table, strings=[name or "\0" for name in names])
        model = TaggerModel(
            FeatureSpace(table=table, names=["" if name == "\0" else name for name in known]),
            LabelSpace(tuple(labels)), likelihood=True,
            parameters={"class": "SequenceTagger", "algorithm": "crf"},
        )  # fmt: skip
        last = [start]

        def report(point: Progress) -> None:
            now = time.perf_counter()
            figures = {"Loss": f"{point.objective:f}", "Feature norm": f"{np.linalg.norm(point.w):f}"}
            if np.isfinite(point.norm):
                figures |= {
                    "Error norm": f"{point.norm:f}", "Active features": str(np.count_nonzero(point.w)),
                    "Line search trials": str(point.trials), "Line search step": f"{point.step:f}",
                }  # fmt: skip
            figures["Seconds required for this iteration"] = f"{now - last[0]:.3f}"
            last[0] = now
            current = model.with_rows(crf.weight_rows(len(table))) if held_out else model
            self._iteration(point.number, figures, _scores(current, held_out))

        most = values["max_iterations"]
        passes = 0 if values.get("c1") or not values["c2"] else min(PASSES, max(most, 0))
        crf = CRF(
            len(labels), c1=values.get("c1", 0.0), c2=values["c2"], passes=passes,
            max_iterations=most - passes, delta=values["delta"], period=values["period"],
            epsilon=values.get("epsilon", 1e-5), memories=values.get("num_memories", 6),
            all_states=values["feature.possible_states"],
            all_transitions=values["feature.possible_transitions"],
            min_count=values["feature.minfreq"], callback=report,
        )  # fmt: skip
        self._describe(len(table), start)
        crf.fit(X, SequenceLabels(codes, X.sentence_ptr))
        return model.with_rows(crf.weight_rows(len(table)))

    def _train_tagger(self, learned: Any, held_out: Any, start: float) -> TaggerModel:
        """A model of another algorithm of ours."""
        values = self._values
        given: dict[str, Any] = {"ap": {"algorithm": "perceptron"}, "arow": {"algorithm": "larank"}}.get(
            self.algorithm, {"algorithm": "pa", "C": values.get("c", 1.0)}
        )
        epochs = min(values["max_iterations"], options.TaggerOptions.OPTIONS["epochs"].high)
        tagger = SequenceTagger(
            **given, epochs=epochs, keep_names=True, constrained=False, inference="exact",
            cutoff=max(1, round(values["feature.minfreq"])),
        )  # fmt: skip
        tagger.fit([x for x, _ in learned], [y for _, y in learned])
        model = tagger.model_
        self._describe(len(model.space), start)
        figures = {"Seconds required for this iteration": f"{time.perf_counter() - start:.3f}"}
        self._iteration(epochs, figures, _scores(model, held_out))
        model.parameters = {"class": "SequenceTagger"}
        return model


class Trainer(BaseTrainer):
    """A trainer that reads its messages into `logparser`, and calls a method when a part has ended."""

    logparser: TrainLogParser | None = None

    def _before_train(self) -> None:
        self.logparser = TrainLogParser()

    def message(self, message: str) -> None:
        """Read a message; call on_start, on_iteration, ... if `verbose` is true."""
        if self.logparser is None:
            return
        event = self.logparser.feed(message)
        if event is None or not self.verbose:
            return
        log = self.logparser.last_log
        if event == "iteration":
            self.on_iteration(log, self.logparser.last_iteration or {})
        else:
            getattr(self, f"on_{event}")(log)

    def on_start(self, log: str) -> None:
        """Called at the start."""
        print(log, end="")

    def on_featgen_end(self, log: str) -> None:
        """Called when the features are known."""
        print(log, end="")

    def on_prepared(self, log: str) -> None:
        """Called before the first iteration."""
        print(log, end="")

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """Called after each iteration with its figures."""
        print(log, end="")

    def on_optimization_end(self, log: str) -> None:
        """Called when training has ended."""
        print(log, end="")

    def on_end(self, log: str) -> None:
        """Called when the model is written."""
        print(log, end="")


def say_once(text: str) -> None:
    """Warn, unless this process has already given the same warning."""
    if text not in SAID:
        SAID.add(text)
        warnings.warn(text, UserWarning, stacklevel=4)


def _scores(model: TaggerModel, held_out: Any) -> Iterator[str]:
    """The messages about held-out sequences."""
    if not held_out:
        return
    X = model.features([x for x, _ in held_out])
    found = [model.names[k] for k in model.tag(X).tolist()]
    gold = [label for _, y in held_out for label in y]
    yield "Performance by label (#match, #model, #ref) (precision, recall, F1):\n"
    sums = np.zeros(3)
    for label in model.names:
        right = sum(a == b == label for a, b in zip(found, gold, strict=True))
        predicted, true = found.count(label), gold.count(label)
        precision, recall = right / max(predicted, 1), right / max(true, 1)
        f1 = 2 * precision * recall / max(precision + recall, 1e-12)
        sums += (precision, recall, f1)
        shown = ", ".join(f"{x:.4f}" if predicted or true else "******" for x in (precision, recall, f1))
        yield f"    {label}: ({right}, {predicted}, {true}) ({shown})\n"
    precision, recall, f1 = sums / len(model.names)
    yield f"Macro-average precision, recall, F1: ({precision:f}, {recall:f}, {f1:f})\n"
    right = sum(a == b for a, b in zip(found, gold, strict=True))
    yield f"Item accuracy: {right} / {len(gold)} ({right / len(gold):.4f})\n"
    ends = X.sentence_ptr.tolist()
    whole = sum(found[a:b] == gold[a:b] for a, b in pairwise(ends))
    yield f"Instance accuracy: {whole} / {len(held_out)} ({whole / len(held_out):.4f})\n"
