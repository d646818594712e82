"""Base class of the tagger components: labels, training on Docs, and the columns of features."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import srsly
from spacy.language import FactoryMeta, Language
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.vocab import Vocab

from structsvm.integrations.spacy import EstimatorPipe
from structsvm.validation import MOST, MOST_BEST, check_count, check_number
from taggers.formats.base import FileColumns
from taggers.formats.registry import FORMATS
from taggers.model import TaggerModel
from taggers.pipeline import Pipeline, open_model
from taggers.spacy.confidence import keep_margins, keep_nbest, register
from taggers.spacy.docs import Batch, attribute_ids, read_docs, ready_features
from taggers.spacy.gold import Gold
from taggers.tagger import TASKS, SequenceTagger

FILE, SETTINGS = "model.ssvm", "cfg"
WORDS = ("ORTH", "LOWER", "NORM")  # set by the tokenizer
ANNOTATED = ("TAG", "POS", "MORPH", "LEMMA", "DEP", "ENT_TYPE", "ENT_IOB")  # set by other components
# Options of a tagger that `spacy train` replaces.
REPLACED = {
    "epochs": "set max_epochs under [training]",
    "patience": "set patience under [training]",
    "cutoff": "set prune to leave out features with small weights",
    "callback": "use a logger of spacy train",
    "jobs": "use n_process of nlp.pipe",
    "shards": "each update is an online pass",
}
# The columns of a CoNLL-U file as spaCy's attributes.
CONLLU = {
    "form": "ORTH", "lemma": "LEMMA", "upos": "POS", "xpos": "TAG", "feats": "MORPH", "deprel": "DEP",
}  # fmt: skip


class SequencePipe(EstimatorPipe):
    """A tagger as a spaCy component, which `update` or `spacy train` trains.

    model: a model file of `structsvm train` to start from; None starts untrained. If the file has
    several layers, as those of `structsvm train ud` do, the component uses the layer that does its work.
    columns: the token attributes to compute features from; None uses those of the model, or `COLUMNS`.
    features: for models that read features instead of words, such as those of CRFsuite: a function from the
    spaCy tokens of a sentence to a list with the features of each token.
    options: the options of `SequenceTagger`, such as C or algorithm. keep_state: save the training state, so
    that training can be resumed exactly. prune: drop weights of this magnitude or less when saving; 0.0 keeps
    all weights. dtype: the type of the saved weights; None keeps the precision of the model.

    Docs are labelled sentence by sentence if they have sentence boundaries, else as a whole; tokens of white
    space are skipped. margins: set `token._.margin`, and `span._.margin` for the smallest margin of a span.
    nbest: set `doc._.nbest` to the n best labellings of each sentence, as (score, labels); needs exact
    inference. Each `update` is one online pass over its examples, in their order. The column LOSS of
    `spacy train` shows how much the dual objective has grown (for a perceptron, the number of updates).
    """

    FILES = (FILE, SETTINGS)
    TAGGER: ClassVar[type[SequenceTagger]]
    COLUMNS: ClassVar[tuple[str, ...]] = ("ORTH",)
    OTHER_TASKS: ClassVar[dict[str, str]] = {}  # refused models: task -> component to use
    LAYER: ClassVar[str] = ""  # of a file with several layers
    WHOLE: ClassVar[bool] = False  # label each doc as one sentence

    model: SequenceTagger
    _rehearsal_model: SequenceTagger | None = None  # nlp.resume_training puts a copy of the model here

    def __init__(
        self,
        vocab: Vocab,
        name: str,
        *,
        model: str | None = None,
        columns: list[str] | None = None,
        features: Callable[..., Any] | None = None,
        options: dict[str, Any] | None = None,
        keep_state: bool = False,
        prune: float = 0.0,
        dtype: str | None = None,
        overwrite: bool = True,
        margins: bool = False,
        nbest: int = 0,
        scorer: Callable[..., Any] | None = None,
    ) -> None:
        if features is not None and columns is not None:
            raise ValueError("columns has no effect with features, whose function reads tokens; leave it out")
        attribute_ids(columns or ())
        check_count(nbest=nbest, high=MOST_BEST)
        check_number(prune=prune, high=MOST)
        if margins or nbest:
            register()
        self.margins, self.nbest, self.features = margins, nbest, features
        self._check(options or {})
        self.saved: dict[str, Any] = {}  # the settings that `to_disk` wrote
        self.chosen_columns, self.overwrite = columns, overwrite
        self.keep_state, self.prune, self.dtype = keep_state, prune, dtype
        self.added: dict[str, None] = {}  # the labels of all calls of `add_label`
        self.undeclared = False  # whether the model still lacks some of them
        super().__init__(vocab, name, model=model, options=options, scorer=scorer)

    def _check(self, options: dict[str, Any]) -> None:
        known = [name for name in self.TAGGER().get_params() if name not in REPLACED]
        for name in options:
            if name in REPLACED:
                raise ValueError(f"the option {name!r} has no effect in a pipeline; {REPLACED[name]}")
            if name not in known:
                hint = "use random_state" if name == "seed" else f"options are {', '.join(known)}"
                raise ValueError(f"there is no option {name!r}; {hint}")

    def _new(self) -> SequenceTagger:
        return self.TAGGER(**self.options)

    def start_over(self) -> None:
        self.saved = {}
        super().start_over()
        if self.source is not None:
            self._check_labels(self.model.model_, self.source)

    @property
    def trained(self) -> bool:
        """Whether there is a model, even an empty one, after declaring the labels of `add_label` to it."""
        if self.undeclared:
            self.undeclared = False
            names = self._shown(self.model.model_.names) if super().trained else []
            self.model.declare(self._all([*names, *self.added]), width=len(self.columns))
        return super().trained

    @abstractmethod
    def _check_labels(self, model: TaggerModel, path: str | Path) -> None:
        """Raise ValueError if the component cannot use the labels of the model file that it starts from."""

    def _load(self, path: str | Path) -> SequenceTagger:
        model = open_model(path)
        self._check_features(model, path)
        if isinstance(model, Pipeline):
            return self.TAGGER.from_model(self._layer(model, path), **self.options)
        tagger = self.TAGGER.from_model(model, **self.options)
        tasks = {cls.__name__: task for task, cls in TASKS.items()}
        task = model.files.get("task") or tasks.get(model.parameters.get("class", ""))
        if task in self.OTHER_TASKS:
            raise ValueError(
                f"{path} is a model for the task {task}, which {self.name!r} cannot do; add the component "
                f"{self.OTHER_TASKS[task]} instead"
            )
        return tagger

    def _check_features(self, model: TaggerModel | Pipeline, path: str | Path) -> None:
        layers = model.layers.values() if isinstance(model, Pipeline) else [model]
        ready = any(one.space.template is None for one in layers)
        if ready and self.features is None:
            raise ValueError(
                f"{path} reads features instead of words; register a function from the tokens of a sentence "
                "to their features with @spacy.registry.misc, and name it in the setting features of "
                f"{self.name!r}"
            )
        if self.features is not None and not ready:
            raise ValueError(f"{path} computes its features itself; leave out features of {self.name!r}")

    def _layer(self, pipeline: Pipeline, path: str | Path) -> TaggerModel:
        """Return the layer of a file that does the work of this component."""
        layers = pipeline.layers
        if self.LAYER not in layers:
            raise ValueError(
                f"{path} has the layers {', '.join(layers)}, and {self.name!r} can use none of them"
                + (f"; it needs {self.LAYER}" if self.LAYER else "")
            )
        if self.keep_state:
            raise ValueError(f"keep_state has no effect on {path}, which has several layers; leave it out")
        return layers[self.LAYER]

    @property
    def columns(self) -> list[str]:
        """The token attributes to compute features from."""
        if self.chosen_columns is not None:
            return self.chosen_columns
        if self.features is not None:
            return ["ORTH"]
        if not self.trained:
            return list(self.COLUMNS)
        return self.saved.get("columns") or self._columns_of_file()

    def _columns_of_file(self) -> list[str]:
        model = self.model.model_
        assert model.space.template is not None
        width = max(model.space.template.width, 1)
        names = ["ORTH", "TAG"]
        file_columns = FORMATS[model.files.get("format", "columns")].names
        if file_columns:
            names = [CONLLU.get(file_columns[column], "?") for column in model.files["inputs"]]
        if width > len(names) or "?" in names[:width]:
            raise ValueError(
                f"the model was trained on {width} columns; name their token attributes with columns=[...]"
            )
        return names[:width]

    def describe(self, meta: FactoryMeta) -> FactoryMeta:
        """Return the attributes that the component sets and needs; the factory's until its model is read."""
        own = ["token._.margin"] * self.margins + ["doc._.nbest"] * bool(self.nbest)
        needed = meta.requires
        if self.chosen_columns is not None or not self.pending:
            needed = [f"token.{name.lower()}" for name in self.columns if name in ANNOTATED]
        return replace(meta, assigns=[*meta.assigns, *own], requires=needed)

    # -- labels ---------------------------------------------------------------------------------

    @property
    def labels(self) -> tuple[str, ...]:
        """The tags or types of phrases, sorted; empty while the model file is still to be read."""
        return tuple(self._shown(self.model.model_.names)) if not self.pending and self.trained else ()

    @property
    def label_data(self) -> list[str]:
        return list(self.labels)

    @property
    def is_resizable(self) -> bool:
        return True

    def add_label(self, label: str) -> int:
        """Add a label and return 1, or 0 if it is known already.

        The model learns all new labels together when it is next used, as each change of it takes time.
        """
        if not isinstance(label, str) or not label:
            raise ValueError(f"a label must be a non-empty str, got {label!r}")
        if label in self.added or (super().trained and label in self._shown(self.model.model_.names)):
            return 0
        self.added[label] = None
        self.undeclared = True
        return 1

    @abstractmethod
    def _shown(self, names: list[str]) -> list[str]:
        """Return the tagger's labels as users see them."""

    @abstractmethod
    def _all(self, labels: list[str]) -> list[str]:
        """Return the tagger's labels for those that users see."""

    @abstractmethod
    def _gold(self, example: Example) -> Gold:
        """Return the gold labels of an example."""

    # -- training -------------------------------------------------------------------------------

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: list[str] | None = None,
        model: str | None = None,
    ) -> None:
        """Start over with the labels of the examples or the given ones; a model file is read again.

        model: the model file to start from, instead of the one that the component was made with. Set it in a
        config as model under [initialize.components.NAME].
        """
        method = f"{type(self).__name__}.initialize"
        if not callable(get_examples):
            validate_get_examples(get_examples, method)  # raises the error
        examples = list(get_examples())  # once: a corpus creates new docs each time
        validate_get_examples(lambda: examples, method)
        self.source = model or self.source
        self.start_over()
        self._adapt(examples, nlp)
        if labels is None:
            seen = {name for example in examples for name in self._gold(example) if name is not None}
            labels = self._shown(sorted(seen))
        self.undeclared = False  # all are declared here
        if labels or self.added or not self.trained:
            names = self._all(sorted({*self.labels, *labels, *self.added}))
            self.model.declare(names, width=len(self.columns), X=self._words(examples))

    def _adapt(self, examples: list[Example], nlp: Language | None) -> None:
        """Choose settings that depend on the examples."""

    def _words(self, examples: list[Example]) -> Any:
        """Return the words of the examples, to learn features from plain text; None if not set yet."""
        if self.features is not None:
            return [[{}]]  # features without a template
        if self.columns[0] not in WORDS:
            return None
        docs = [example.predicted for example in examples]
        return read_docs(docs, self.columns[:1]).columns

    def _learn(self, examples: list[Example]) -> float:
        golden = [(example, self._gold(example)) for example in examples]
        pairs = [(example.predicted, gold) for example, gold in golden if any(gold)]
        if not pairs:
            return 0.0
        self.require_model()
        before = self._objective()
        batch = self._read([doc for doc, _ in pairs])
        self.model.partial_fit(batch.X, self._sentence_gold(batch, [gold for _, gold in pairs]))
        return self._objective() - before

    def rehearse(
        self,
        examples: Iterable[Example],
        *,
        sgd: Any = None,
        losses: dict[str, float] | None = None,
        **kwargs: Any,
    ) -> dict[str, float]:
        """Learn the labels that the model predicts in the state in which `nlp.resume_training` copied it."""
        losses = {} if losses is None else losses
        examples = list(examples)
        validate_examples(examples, f"{type(self).__name__}.rehearse")
        old = self._rehearsal_model
        if old is None or not examples:
            return losses
        before, batch = self._objective(), self._read([example.predicted for example in examples])
        self.model.partial_fit(batch.X, old.predict(batch.X))
        losses[self.name] = losses.get(self.name, 0.0) + self._objective() - before
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
        """Return how many labels of the predicted docs differ from the gold ones; there is no gradient."""
        examples = list(examples)
        self.set_annotations([example.predicted for example in examples], scores)
        wrong = 0
        for example in examples:
            found = self._gold(Example(example.predicted, example.predicted))
            wrong += sum(a is not None and a != b for a, b in zip(self._gold(example), found, strict=True))
        return float(wrong), None

    # -- labelling ------------------------------------------------------------------------------

    def _read(self, docs: list[Doc]) -> Batch:
        batch = read_docs(docs, self.columns, whole=self.WHOLE)
        if self.features is None:
            return batch
        return replace(batch, features=ready_features(docs, batch, self.features))

    def _label(self, docs: Iterable[Doc]) -> tuple[Batch, np.ndarray, list[str]]:
        """Return the sentences of docs, the label of each token as an index into names, and the names.

        Names that are read later may be others, if another thread has trained the model meanwhile.
        """
        self.require_model()
        docs = list(docs)
        batch = self._read(docs)
        n_tokens = batch.columns.n_tokens
        margins = np.zeros(n_tokens, np.float32) if self.margins else None
        ids, names = np.full(n_tokens, -1, np.int32), list[str]()
        if self.model.model_.labels and n_tokens:
            ids, names = self.model.tag_with_names(batch.X, margins=margins)
        if margins is not None:
            keep_margins(docs, batch.bounds, batch.tokens, margins)
        if self.nbest:
            best = self.model.predict_nbest(batch.X, self.nbest) if names else []
            keep_nbest(docs, [doc for doc, _, _ in batch.sentences()] if best else [], best)
        return batch, ids, names

    # -- files ----------------------------------------------------------------------------------

    def _save(self, folder: Path) -> None:
        if self.features is None:
            self.model.model_.files = self.model.model_.files or self._files()
        srsly.write_json(folder / SETTINGS, self._settings())
        if self.keep_state:
            self.model.save(folder / FILE, training_state=True)
        else:
            dtype = self.dtype or precision(self.model.model_)
            self.model.save(folder / FILE, prune=self.prune, dtype=dtype)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Read what `to_disk` wrote."""
        settings = srsly.read_json(Path(path) / SETTINGS)
        super().from_disk(path, exclude=exclude)
        attribute_ids(settings["columns"])
        self.saved = settings
        return self

    def _files(self) -> FileColumns:
        """Return the columns that the command line reads and predicts with a model trained here."""
        return {}

    def _settings(self) -> dict[str, Any]:
        """Return the settings that are saved with the model file."""
        return {"columns": self.columns}


def precision(model: TaggerModel) -> str:
    """Return the smallest type of weights that keeps a model as it is."""
    values = model.weights.cells["value"]
    if not model.space.table.short:  # the smaller types shorten the keys of features too
        return "float32"
    if len(np.unique(values)) <= 256:
        return "int8"
    return "float16" if np.array_equal(values, values.astype(np.float16).astype(np.float32)) else "float32"
