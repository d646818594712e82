"""What all components share: training on Docs, model files, labels. No Thinc: a `SequenceTagger` learns."""

from __future__ import annotations

import tempfile
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import srsly
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.vocab import Vocab

from structsvm.persist import ModelFileError
from taggers.estimator import SequenceTagger
from taggers.files import CONLLU_NAMES
from taggers.spacy.docs import Batch, attribute_ids, read_docs
from taggers.spacy.gold import Gold

FILE, SETTINGS = "model.ssvm", "cfg"
# What every factory takes.
OPTIONS: dict[str, Any] = {
    "model": None, "columns": None, "options": {}, "keep_state": False, "prune": 0.0, "dtype": "float32",
    "overwrite": True,
}  # fmt: skip
# What the columns of a CoNLL-U file are called in spaCy.
_CONLLU = {"form": "ORTH", "lemma": "LEMMA", "upos": "POS", "xpos": "TAG", "deprel": "DEP"}


class SequencePipe(TrainablePipe):
    """A tagger of ours as a spaCy component: found by `add_pipe`, trained by `update` or `spacy train`.

    model: a file of the command line's `train`, from which it starts; None begins with nothing.
    columns: the attributes that features are made of; None takes those of the model, or `COLUMNS`.
    options: of `SequenceTagger`, such as C or algorithm. keep_state: save what it takes to go on training as
    if it had never ended. prune, dtype: of the file, see `TaggerModel.save`; with 0.0 nothing is lost.

    Docs are labelled sentence by sentence where something has set sentence boundaries, else as a whole;
    tokens of white space are passed over. Each `update` is one online pass over its examples, in their
    order. In the column LOSS of `spacy train` stands how much the dual objective has grown (for a
    perceptron, the number of its updates).
    """

    TAGGER: ClassVar[type[SequenceTagger]]
    COLUMNS: ClassVar[tuple[str, ...]] = ("ORTH",)

    model: SequenceTagger

    def __init__(
        self,
        vocab: Vocab,
        name: str,
        *,
        model: str | None = None,
        columns: list[str] | None = None,
        options: dict[str, Any] | None = None,
        keep_state: bool = False,
        prune: float = 0.0,
        dtype: str = "float32",
        overwrite: bool = True,
        scorer: Callable[..., Any] | None = None,
    ) -> None:
        attribute_ids(columns or ())
        self.vocab, self.name = vocab, name
        self.cfg: dict[str, Any] = {}
        self.saved: dict[str, Any] = {}  # settings of a model that `to_disk` wrote
        self.source, self.chosen_columns, self.options = model, columns, dict(options or {})
        self.keep_state, self.prune, self.dtype = keep_state, prune, dtype
        self.overwrite, self.scorer = overwrite, scorer
        try:
            self._start()
        except ModelFileError:
            # A pipeline that is loaded from disk has its model there, and the file it began with may be gone.
            if Path(str(model)).exists():
                raise

    # -- the model ------------------------------------------------------------------------------

    def _start(self) -> None:
        """Begin anew, from the model file if there is one."""
        self.model, self.saved = self.TAGGER(**self.options), {}
        if self.source is not None:
            self.model = self.TAGGER.load(self.source, **self.options)

    @property
    def trained(self) -> bool:
        """Whether there is a model, be it an empty one."""
        return hasattr(self.model, "model_")

    def _require(self) -> None:
        if not self.trained and self.source is not None:
            self._start()
        if not self.trained:
            raise ValueError(
                f"the component {self.name!r} has no model: give it one by config={{'model': 'file.ssvm'}}, "
                "or call nlp.initialize and train it"
            )

    @property
    def columns(self) -> list[str]:
        """The attributes of tokens that features are made of."""
        if self.chosen_columns is not None:
            return self.chosen_columns
        if not self.trained or self.model.model_.template is None:
            return list(self.COLUMNS)
        return self.saved.get("columns") or self._columns_of_file()

    def _columns_of_file(self) -> list[str]:
        model = self.model.model_
        assert model.template is not None
        width = max(model.template.width, 1)
        names = ["ORTH", "TAG"]
        if model.files.get("format") == "conllu":
            names = [_CONLLU.get(CONLLU_NAMES[column], "?") for column in model.files["inputs"]]
        if width > len(names) or "?" in names[:width]:
            raise ValueError(
                f"the model was trained on {width} columns: say by columns=[...] what they are in a Doc"
            )
        return names[:width]

    # -- labels ---------------------------------------------------------------------------------

    @property
    def labels(self) -> tuple[str, ...]:
        """What users call labels, sorted: tags, or types of phrases."""
        return tuple(self._shown(self.model.model_.names)) if self.trained else ()

    @property
    def label_data(self) -> list[str]:
        return list(self.labels)

    @property
    def is_resizable(self) -> bool:
        return True

    def add_label(self, label: str) -> int:
        """Know one label more; 0 if it was known."""
        if not isinstance(label, str) or not label:
            raise ValueError(f"{label!r} is no label: give a str")
        if label in self.labels:
            return 0
        if not self.trained and self.source is not None:
            self._start()
        self.model.declare(self._all([*self.labels, label]), width=len(self.columns))
        return 1

    @abstractmethod
    def _shown(self, names: list[str]) -> list[str]:
        """The tagger's labels as users see them."""

    @abstractmethod
    def _all(self, labels: list[str]) -> list[str]:
        """The tagger's labels for those that users see."""

    @abstractmethod
    def _gold(self, example: Example) -> Gold:
        """The gold labels of an example."""

    # -- training -------------------------------------------------------------------------------

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: list[str] | None = None,
    ) -> None:
        """Begin anew with the labels of the examples, or with those given; a model file is read again."""
        method = f"{type(self).__name__}.initialize"
        if labels is None and callable(get_examples):
            examples = list(get_examples())  # read once: a corpus makes its docs anew each time
            validate_get_examples(lambda: examples, method)
            seen = {name for example in examples for name in self._gold(example) if name is not None}
            labels = self._shown(sorted(seen))
        else:
            validate_get_examples(get_examples, method)
        self._start()
        if labels or not self.trained:
            self.model.declare(self._all(sorted({*self.labels, *labels})), width=len(self.columns))

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Any = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """One online pass over the examples, in their order; `drop` and `sgd` play no part."""
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, f"{type(self).__name__}.update")
        golden = [self._gold(example) for example in examples]
        known = [any(gold) for gold in golden]
        if any(known):
            self._require()
            before = self._objective()
            pairs = [pair for pair, use in zip(zip(examples, golden, strict=True), known, strict=True) if use]
            batch = self._read([example.predicted for example, _ in pairs])
            self.model.partial_fit(batch.columns, self._sentence_gold(batch, [gold for _, gold in pairs]))
            losses[self.name] += self._objective() - before
        return losses

    def _sentence_gold(self, batch: Batch, golden: list[Gold]) -> list[Gold]:
        flat = list(chain.from_iterable(golden))
        labels = [flat[at] for at in batch.tokens.tolist()]
        return [labels[start:end] for start, end in pairwise(batch.columns.sentence_ptr.tolist())]

    def _objective(self) -> float:
        optimizer = getattr(self.model, "optimizer_", None)
        if optimizer is None:
            return 0.0
        dual = optimizer.dual_
        return dual if dual == dual else float(optimizer.n_support_vectors_)

    def get_loss(self, examples: Iterable[Example], scores: Any) -> tuple[float, None]:
        """How many labels of the predicted docs differ from the gold ones; there is no gradient."""
        examples = list(examples)
        self.set_annotations([example.predicted for example in examples], scores)
        wrong = 0
        for example in examples:
            found = self._gold(Example(example.predicted, example.predicted))
            wrong += sum(a is not None and a != b for a, b in zip(self._gold(example), found, strict=True))
        return float(wrong), None

    def finish_update(self, sgd: Any) -> None:
        """Nothing: an update is complete."""

    def use_params(self, params: Any) -> Iterator[None]:
        """Nothing to exchange: there are no averages of a Thinc optimizer here."""
        yield

    # -- labelling ------------------------------------------------------------------------------

    def _read(self, docs: list[Doc]) -> Batch:
        return read_docs(docs, self.columns, self.vocab.strings)

    def _label(self, docs: Iterable[Doc]) -> tuple[Batch, np.ndarray]:
        """The sentences of docs, and for each of their tokens the place of its label in the model's names."""
        self._require()
        batch = self._read(list(docs))
        if not self.model.model_.labels or not batch.columns.n_tokens:
            return batch, np.full(batch.columns.n_tokens, -1, np.int32)
        return batch, self.model.tag_columns(batch.columns)

    # -- files ----------------------------------------------------------------------------------

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write a folder with `model.ssvm`, a file that the command line reads too, and `cfg`."""
        self._require()
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        srsly.write_json(folder / SETTINGS, self._settings())
        if self.keep_state:
            self.model.save(folder / FILE, training_state=True)
        else:
            self.model.save(folder / FILE, prune=self.prune, dtype=self.dtype)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Read what `to_disk` wrote."""
        settings = srsly.read_json(Path(path) / SETTINGS)
        self.model = self.TAGGER.load(Path(path) / FILE, **self.options)
        self._take(settings)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """What `to_disk` writes, as bytes."""
        with tempfile.TemporaryDirectory() as folder:
            self.to_disk(folder, exclude=exclude)
            return srsly.msgpack_dumps({name: Path(folder, name).read_bytes() for name in (FILE, SETTINGS)})

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """Read what `to_bytes` returned."""
        content = srsly.msgpack_loads(bytes_data)
        if not isinstance(content, dict) or not all(
            isinstance(content.get(k), bytes) for k in (FILE, SETTINGS)
        ):
            raise ModelFileError(f"These bytes hold no model of the component {self.name!r}.")
        with tempfile.TemporaryDirectory() as folder:
            for name in (FILE, SETTINGS):
                Path(folder, name).write_bytes(content[name])
            return self.from_disk(folder, exclude=exclude)

    def _settings(self) -> dict[str, Any]:
        """What must be known of a model beside its file."""
        return {"columns": self.columns}

    def _take(self, settings: dict[str, Any]) -> None:
        """Take `_settings` that were saved."""
        attribute_ids(settings["columns"])
        self.saved = settings
