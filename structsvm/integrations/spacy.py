"""What all our spaCy components share: an estimator with a model file of its own. No Thinc: ours learns."""

from __future__ import annotations

import tempfile
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Self

import srsly
from spacy.pipeline import TrainablePipe
from spacy.vocab import Vocab

from structsvm.files.persist import ModelFileError


class EstimatorPipe(TrainablePipe):
    """An estimator as a component: it starts from a model file or from nothing, and is saved as one.

    model: the file from which it starts. options: of the estimator. What a subclass must say: how a new
    estimator is made, how one is loaded, and how it learns from examples and labels docs.
    """

    FILES: ClassVar[tuple[str, ...]]  # what a saved component consists of, the model first

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
        try:
            self._start()
        except ModelFileError:
            # A pipeline that is loaded from disk has its model there, and the file it began with may be gone.
            if Path(str(model)).exists():
                raise

    @abstractmethod
    def _new(self) -> Any:
        """An estimator that has learned nothing."""

    @abstractmethod
    def _load(self, path: str | Path) -> Any:
        """The estimator of a model file."""

    def _start(self) -> None:
        """Begin anew, from the model file if there is one."""
        self.model = self._new()
        if self.source is not None:
            self.model = self._load(self.source)

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

    # -- training -------------------------------------------------------------------------------

    def finish_update(self, sgd: Any) -> None:
        """Nothing: an update is complete."""

    def use_params(self, params: Any) -> Iterator[None]:
        """Nothing to exchange: there are no averages of a Thinc optimizer here."""
        yield

    # -- files ----------------------------------------------------------------------------------

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write a folder with a model file, which the command line reads too."""
        self._require()
        Path(path).mkdir(parents=True, exist_ok=True)
        self._save(Path(path))

    def _save(self, folder: Path) -> None:
        """Write all files of the component."""
        self.model.save(folder / self.FILES[0])

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Read what `to_disk` wrote."""
        self.model = self._load(Path(path) / self.FILES[0])
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """What `to_disk` writes, as bytes."""
        with tempfile.TemporaryDirectory() as folder:
            self.to_disk(folder, exclude=exclude)
            return srsly.msgpack_dumps({name: Path(folder, name).read_bytes() for name in self.FILES})

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """Read what `to_bytes` returned."""
        content = srsly.msgpack_loads(bytes_data)
        if not isinstance(content, dict) or not all(isinstance(content.get(k), bytes) for k in self.FILES):
            raise ModelFileError(f"These bytes hold no model of the component {self.name!r}.")
        with tempfile.TemporaryDirectory() as folder:
            for name in self.FILES:
                Path(folder, name).write_bytes(content[name])
            return self.from_disk(folder, exclude=exclude)


def begin_losses(losses: dict[str, float] | None, name: str) -> dict[str, float]:
    """The losses to add to, with an entry of that name."""
    losses = {} if losses is None else losses
    losses.setdefault(name, 0.0)
    return losses
