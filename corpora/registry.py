"""Which corpora the project knows: what each is, its licence, where to get it, and how to find it on disk.

A corpus lies in a folder of its name, under the directory named by the environment variable
STRUCTSVM_CORPORA or given explicitly. Nothing is downloaded and no corpus text is shipped.
"""

import gzip
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from corpora.catalogue import CATALOGUE

ENVIRONMENT_VARIABLE = "STRUCTSVM_CORPORA"


@dataclass(frozen=True)
class Corpus:
    """One corpus; `files` maps each file, or folder ending in "/", to its `checksum`."""

    name: str
    what: str
    licence: str
    source: str
    files: dict[str, str]


class CorpusMissing(FileNotFoundError):
    """A corpus is not where it was looked for; the message says where that was and where to get it."""


CORPORA = {name: Corpus(name, **entry) for name, entry in CATALOGUE.items()}


def find(name: str, directory: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder that holds every file of a corpus, or raise CorpusMissing.

    `directory` (default: $STRUCTSVM_CORPORA) is either the parent of the folder `name` or that folder itself.
    """
    corpus = _known(name)
    where = directory if directory is not None else os.environ.get(ENVIRONMENT_VARIABLE)
    if not where:
        raise CorpusMissing(
            f"Corpus {name!r} was not looked for: set {ENVIRONMENT_VARIABLE} to the directory that holds a "
            f"folder {name!r}, or give that directory. Where to get it: {corpus.source}"
        )
    root = Path(where).expanduser()
    candidates = [root / name, root]
    for folder in candidates:
        if not _absent(corpus, folder):
            return folder
    best = min(candidates, key=lambda folder: len(_absent(corpus, folder)))
    raise CorpusMissing(
        f"Corpus {name!r} was not found in {root / name} nor in {root}: {best} lacks "
        f"{', '.join(_absent(corpus, best))}. Where to get it: {corpus.source}"
    )


def verify(name: str, directory: str | os.PathLike[str] | None = None) -> list[str]:
    """Return the files of a corpus whose content is not the one our figures were measured on."""
    folder = find(name, directory)
    return [file for file, digest in _known(name).files.items() if checksum(folder / file) != digest]


def checksum(path: Path) -> str:
    """Compute the sha256 of a file's content, or of a folder's.

    A `.gz` counts by what it contains, since two compressions of the same data differ. A folder counts as the
    text `sha256sum` would print for its files in order of their names, leaving out any README.
    """
    if path.is_dir():
        files = sorted(file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file())
        lines = (f"{checksum(path / file)}  {file}\n" for file in files if not file.endswith("README"))
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    with gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _known(name: str) -> Corpus:
    if name not in CORPORA:
        raise ValueError(f"No corpus is called {name!r}; known are {', '.join(CORPORA)}.")
    return CORPORA[name]


def _absent(corpus: Corpus, folder: Path) -> list[str]:
    return [file for file in corpus.files if not (folder / file).exists()]
