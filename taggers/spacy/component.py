"""What the components of taggers share: labels, training on Docs, what their columns are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import srsly
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.vocab import Vocab

from structsvm.integrations.spacy import EstimatorPipe, begin_losses
from taggers.formats._columns import Columns
from taggers.formats.files import CONLLU_NAMES
from taggers.spacy.docs import Batch, attribute_ids, read_docs
from taggers.spacy.gold import Gold
from taggers.tagger import SequenceTagger

FILE, SETTINGS = "model.ssvm", "cfg"
WORDS = ("ORTH", "LOWER", "NORM")  # what a token has from the beginning
# What every factory takes.
OPTIONS: dict[str, Any] = {
    "model": None, "columns": None, "options": {}, "keep_state": False, "prune": 0.0, "dtype": "float32",
    "overwrite": True,
}  # fmt: skip
# What the columns of a CoNLL-U file are called in spaCy.
_CONLLU = {"form": "ORTH", "lemma": "LEMMA", "upos": "POS", "xpos": "TAG", "deprel": "DEP"}


class SequencePipe(EstimatorPipe):
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

    FILES = (FILE, SETTINGS)
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
        self.saved: dict[str, Any] = {}  # settings of a model that `to_disk` wrote
        self.chosen_columns, self.overwrite = columns, overwrite
        self.keep_state, self.prune, self.dtype = keep_state, prune, dtype
        super().__init__(vocab, name, model=model, options=options, scorer=scorer)

    def _new(self) -> SequenceTagger:
        self.saved = {}
        return self.TAGGER(**self.options)

    def _load(self, path: str | Path) -> SequenceTagger:
        return self.TAGGER.load(path, **self.options)

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
        if not callable(get_examples):
            validate_get_examples(get_examples, method)  # says so
        examples = list(get_examples())  # read once: a corpus makes its docs anew each time
        validate_get_examples(lambda: examples, method)
        if labels is None:
            seen = {name for example in examples for name in self._gold(example) if name is not None}
            labels = self._shown(sorted(seen))
        self._start()
        if labels or not self.trained:
            names = self._all(sorted({*self.labels, *labels}))
            self.model.declare(names, width=len(self.columns), X=self._words(examples))

    def _words(self, examples: list[Example]) -> Columns | None:
        """The words of the examples, for what is learned from text alone; None where they are not yet set."""
        if self.columns[0] not in WORDS:
            return None
        docs = [example.predicted for example in examples]
        return read_docs(docs, self.columns[:1], self.vocab.strings).columns

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Any = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """One online pass over the examples, in their order; `drop` and `sgd` play no part."""
        losses = begin_losses(losses, self.name)
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

    def _save(self, folder: Path) -> None:
        srsly.write_json(folder / SETTINGS, self._settings())
        if self.keep_state:
            self.model.save(folder / FILE, training_state=True)
        else:
            self.model.save(folder / FILE, prune=self.prune, dtype=self.dtype)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Read what `to_disk` wrote."""
        settings = srsly.read_json(Path(path) / SETTINGS)
        super().from_disk(path, exclude=exclude)
        attribute_ids(settings["columns"])
        self.saved = settings
        return self

    def _settings(self) -> dict[str, Any]:
        """What must be known of a model beside its file."""
        return {"columns": self.columns}
