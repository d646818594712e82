"""Base class of the spaCy components: estimators that train themselves, without Thinc."""

from __future__ import annotations

import inspect
import tempfile
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Self

import srsly
from spacy.language import FactoryMeta, Language
from spacy.pipeline import TrainablePipe
from spacy.training import Example, validate_examples
from spacy.vocab import Vocab

from structsvm.files.persist import ModelFileError


class EstimatorPipe(TrainablePipe):
    """An estimator as a pipeline component, which starts from a model file or untrained.

    model: the file to start from. options: the options of the estimator. A subclass defines how to create and
    load its estimator, how to learn from examples and how to annotate docs.

    `nlp.add_pipe` reads the model file at once. A pipeline that spaCy builds from a config reads it only when
    needed: a saved pipeline has its own copy, and the original file may no longer exist.
    """

    FILES: ClassVar[tuple[str, ...]]  # the files of a saved component, the model first

    model: Any

    def __init__(
        self,
        vocab: Vocab,
        name: str,
        *,
        model: str | None = None,
        options: dict[str, Any] | None = None,
        scorer: Callable[..., Any] | None = None,
    ) -> None:
        self.vocab, self.name, self.scorer = vocab, name, scorer
        self.cfg: dict[str, Any] = {}
        self.source, self.options = model, dict(options or {})
        self.model, self.pending = self._new(), model is not None
        if self.pending and not _built_from_config():
            self.start_over()

    @abstractmethod
    def _new(self) -> Any:
        """Return an untrained estimator."""

    @abstractmethod
    def _load(self, path: str | Path) -> Any:
        """Return the estimator of a model file."""

    def start_over(self) -> None:
        """Start over: from the model file if there is one, else untrained."""
        self.model = self._new() if self.source is None else self._load(self.source)
        self.pending = False

    @property
    def trained(self) -> bool:
        """Whether there is a model, even an empty one; reads the model file if that is still pending."""
        if self.pending:
            self.start_over()
        return hasattr(self.model, "model_")

    def require_model(self) -> None:
        """Raise ValueError if there is no model."""
        if not self.trained:
            raise ValueError(
                f"the component {self.name!r} has no model; pass config={{'model': 'file.ssvm'}}, "
                "or call nlp.initialize and train it"
            )

    def describe(self, meta: FactoryMeta) -> FactoryMeta:
        """Return the meta of the factory, adapted to the settings of this component."""
        return meta

    # -- training -------------------------------------------------------------------------------

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Any = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn from the examples online, in their order; `drop` and `sgd` are ignored."""
        losses = {} if losses is None else losses
        examples = list(examples)
        validate_examples(examples, f"{type(self).__name__}.update")
        losses[self.name] = losses.get(self.name, 0.0) + self._learn(examples)
        return losses

    @abstractmethod
    def _learn(self, examples: list[Example]) -> float:
        """Learn from the examples, in their order, and return the loss that spaCy shows."""

    def finish_update(self, sgd: Any) -> None:
        """Do nothing: `update` has already changed the weights."""

    def use_params(self, params: Any) -> Iterator[None]:
        """Do nothing: a Thinc optimizer and its averages are not used here."""
        yield

    # -- files ----------------------------------------------------------------------------------

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write a folder with a model file, which the command line can read too."""
        self.require_model()
        Path(path).mkdir(parents=True, exist_ok=True)
        self._save(Path(path))

    def _save(self, folder: Path) -> None:
        """Write all files of the component."""
        self.model.save(folder / self.FILES[0])

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Read what `to_disk` wrote."""
        self.model = self._load(Path(path) / self.FILES[0])
        self.pending = False
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return the files that `to_disk` writes, as bytes."""
        with tempfile.TemporaryDirectory() as folder:
            self.to_disk(folder, exclude=exclude)
            return bytes(srsly.msgpack_dumps({name: Path(folder, name).read_bytes() for name in self.FILES}))

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """Read what `to_bytes` returned."""
        content = srsly.msgpack_loads(bytes_data)
        if not isinstance(content, dict) or not all(isinstance(content.get(k), bytes) for k in self.FILES):
            raise ModelFileError(
                f"these bytes do not contain a model of the component {self.name!r}; pass the result of its "
                "to_bytes"
            )
        with tempfile.TemporaryDirectory() as folder:
            for name in self.FILES:
                Path(folder, name).write_bytes(content[name])
            return self.from_disk(folder, exclude=exclude)


class Descriptions(dict[str, FactoryMeta]):
    """The meta of each component of a pipeline, for `nlp.analyze_pipes` and the score weights in its config.

    spaCy gives every component the meta of its factory. Here each component describes itself.
    """

    def __init__(self, nlp: Language) -> None:
        super().__init__(nlp._pipe_meta)
        self.nlp = nlp

    def __getitem__(self, name: str) -> FactoryMeta:
        meta = super().__getitem__(name)
        component = dict(self.nlp.components).get(name)
        return component.describe(meta) if isinstance(component, EstimatorPipe) else meta


def factory(
    name: str,
    component: type[EstimatorPipe],
    *,
    scorer: str,
    score_weights: dict[str, float | None],
    assigns: Iterable[str],
    requires: Iterable[str] = (),
) -> Callable[..., Any]:
    """Register a component with spaCy. Its settings are the keyword arguments of its constructors."""
    settings: dict[str, inspect.Parameter] = {}
    for base in reversed(component.__mro__):
        if issubclass(base, EstimatorPipe) and "__init__" in vars(base):
            arguments = inspect.signature(vars(base)["__init__"], eval_str=True).parameters.values()
            settings |= {given.name: given for given in arguments if given.kind is given.KEYWORD_ONLY}

    def make(nlp: Language, name: str, **values: Any) -> EstimatorPipe:
        if not isinstance(nlp._pipe_meta, Descriptions):
            nlp._pipe_meta = Descriptions(nlp)
        return component(nlp.vocab, name, **values)

    make.__doc__, make.__module__ = component.__doc__, component.__module__  # spaCy reads the package
    fixed = list(inspect.signature(make, eval_str=True).parameters.values())[:2]
    make.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [*fixed, *(given.replace(default=inspect.Parameter.empty) for given in settings.values())]
    )
    defaults = {given.name: given.default for given in settings.values()}
    made: Callable[..., Any] = Language.factory(
        name, func=make, assigns=assigns, requires=requires, default_score_weights=score_weights,
        default_config=defaults | {"options": {}, "scorer": {"@scorers": scorer}},
    )  # fmt: skip
    return made


def _built_from_config() -> bool:
    """Whether spaCy is building a whole pipeline from its config, as `spacy.load` and `spacy train` do.

    spaCy does not tell a factory who calls it, so the callers are searched.
    """
    wanted = Language.from_config.__func__.__code__  # type: ignore[attr-defined]
    frame = inspect.currentframe()
    while frame is not None and frame.f_code is not wanted:
        frame = frame.f_back
    return frame is not None
