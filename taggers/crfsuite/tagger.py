"""The tagger of python-crfsuite, over a model of CRFsuite or of structsvm."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.files.persist import ModelFileError
from structsvm.problems.sequence import Sequences
from structsvm.validation import meant
from taggers.crfsuite.items import ItemSequence
from taggers.model import TaggerModel


class ParsedDump:
    """The content of a model.

    Attributes
    ----------
    header : the size of the file and the numbers of labels and attributes, as str.
    labels, attributes : the number of each name, as str.
    transitions : the weight of each pair (label before, label).
    state_features : the weight of each pair (attribute, label).
    """

    def __init__(self) -> None:
        self.header: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self.attributes: dict[str, str] = {}
        self.transitions: dict[tuple[str, str], float] = {}
        self.state_features: dict[tuple[str, str], float] = {}


class Tagger:
    """Label sequences of items with a model."""

    def __init__(self) -> None:
        self._model: TaggerModel | None = None
        self._size = 0
        self._features: Sequences | None = None
        self._marginals: np.ndarray | None = None

    def open(self, name: str | os.PathLike[str]) -> contextlib.closing[Tagger]:
        """Open a model file; the result closes the tagger at the end of a with statement."""
        with open(name, "rb"):  # the error of a file that does not exist is OSError
            pass
        self.close()
        model = TaggerModel.load(name)
        if model.space.template is not None or model.labels.inference != "exact" or model.labels.constrained:
            raise ValueError(f"{name} is not a model like those of CRFsuite; use taggers.SequenceTagger")
        self._model = model
        self._size = os.path.getsize(name)
        return contextlib.closing(self)

    def open_inmemory(self, value: bytes) -> contextlib.closing[Tagger]:
        """Open a model from the content of its file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model")
            path.write_bytes(value)
            try:
                return self.open(path)
            except ModelFileError as error:
                raise ValueError(str(error).replace(str(path), "the content")) from None

    def close(self) -> None:
        """Close the model."""
        self._model = self._features = self._marginals = None

    def _opened(self, kind: type[Exception] = ValueError) -> TaggerModel:
        if self._model is None:
            raise kind("the tagger is not opened; call open with a model file")
        return self._model

    def labels(self) -> list[str]:
        """The labels of the model."""
        return list(self._opened().names)

    def set(self, xseq: Any) -> None:
        """Set the sequence for `tag`, `probability` and `marginal`."""
        items = xseq.items() if isinstance(xseq, ItemSequence) else list(xseq)
        self._features, self._marginals = self._opened().features([items]), None

    def _current(self) -> Sequences:
        if self._features is None:
            raise ValueError("there is no sequence; call set or tag with one first")
        return self._features

    def tag(self, xseq: Any = None) -> list[str]:
        """The labels of a sequence; by default, of the one passed to `set`."""
        model = self._opened()
        if xseq is not None:
            self.set(xseq)
        names = model.names
        return [names[k] for k in model.tag(self._current()).tolist()]

    def marginal(self, y: str, pos: int) -> float:
        """The probability of a label at a position of the last sequence passed to `set` or `tag`."""
        model, features = self._opened(), self._current()
        if self._marginals is None:
            self._marginals = model.marginals(features)
        if not 0 <= pos < len(self._marginals):
            raise ValueError(f"position {pos} is not in the sequence of {len(self._marginals)} items")
        return float(self._marginals[pos, self._number(y)])

    def marginals(self, xseq: Any) -> list[dict[str, float]]:
        """The probability of each label of each item of a sequence."""
        self.set(xseq)
        model = self._opened()
        self._marginals = model.marginals(self._current())
        return [dict(zip(model.names, row, strict=True)) for row in self._marginals.tolist()]

    def probability(self, yseq: Sequence[str]) -> float:
        """The probability of these labels together, for the last sequence passed to `set` or `tag`."""
        model, features = self._opened(), self._current()
        if len(yseq) != features.n_tokens:
            raise ValueError(f"{len(yseq)} labels for {features.n_tokens} items")
        if not len(yseq):
            return 1.0
        numbers = [self._number(y) for y in yseq]
        allowed = np.eye(len(model.names), dtype=bool)[numbers]
        return float(np.exp(model.log_likelihood(features, allowed)[0]))

    def _number(self, y: str) -> int:
        names = self._opened().names
        if y not in names:
            raise ValueError(f"unknown label {y!r}{meant(y, names)}")
        return names.index(y)

    def info(self) -> ParsedDump:
        """The weights and names of the model."""
        model = self._opened(RuntimeError)
        found = ParsedDump()
        labels, first = model.labels, model.first_row
        names = model.space.names or [None] * len(model.space)
        known = [f"#{row}" if name is None else name for row, name in enumerate(names)]
        found.header = {
            "size": str(self._size), "num_labels": str(len(labels)), "num_attrs": str(len(known)),
            "num_features": str(len(model.weights.cells)),
        }  # fmt: skip
        found.labels = {name: str(number) for number, name in enumerate(labels)}
        found.attributes = {name: str(number) for number, name in enumerate(known)}
        cells = model.weights.cells
        for row, label, value in zip(model.weights.row_of, cells["label"], cells["value"], strict=True):
            if row < len(labels):
                found.transitions[labels[row], labels[label]] = float(value)
            elif row >= first:
                found.state_features[known[row - first], labels[label]] = float(value)
        return found

    def dump(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write the weights as text to a file, or to standard output if there is no file name."""
        text = "".join(f"{line}\n" for line in _lines(self.info()))
        if filename is None:
            sys.stdout.write(text)
        else:
            Path(filename).write_text(text, encoding="utf-8")


def _lines(found: ParsedDump) -> list[str]:
    """A dump as CRFsuite lays it out."""
    lines = ["FILEHEADER = {", *(f"  {name}: {value}" for name, value in found.header.items()), "}", ""]
    for title, names in (("LABELS", found.labels), ("ATTRIBUTES", found.attributes)):
        lines += [f"{title} = {{", *(f"  {number:>5}: {name}" for name, number in names.items()), "}", ""]
    for kind, title, weights in (
        (1, "TRANSITIONS", found.transitions),
        (0, "STATE_FEATURES", found.state_features),
    ):
        cells = (f"  ({kind}) {source} --> {label}: {value:f}" for (source, label), value in weights.items())
        lines += [f"{title} = {{", *cells, "}", ""]
    return lines
