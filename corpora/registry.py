"""The known corpora: their content, licence, source and location on disk.

A corpus is a folder of the same name, in the directory named by the environment variable STRUCTSVM_CORPORA or
passed explicitly. Nothing is downloaded, and no corpus text is shipped.
"""

import gzip
import hashlib
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

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
    """A corpus was not found; the message says where it was searched for and where to get it."""


CATALOGUE = tomllib.loads(Path(__file__).with_name("catalogue.toml").read_text(encoding="utf-8"))
CORPORA = {name: Corpus(name, **entry) for name, entry in CATALOGUE.items()}


def find(name: str, directory: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder that holds every file of a corpus, or raise CorpusMissing.

    `directory` (default: $STRUCTSVM_CORPORA) is either the parent of the folder `name` or that folder itself.
    """
    corpus = _known(name)
    where = directory if directory is not None else os.environ.get(ENVIRONMENT_VARIABLE)
    if not where:
        raise CorpusMissing(
            f"Corpus {name!r} was not searched for; set {ENVIRONMENT_VARIABLE} to the directory that holds a "
            f"folder {name!r}, or pass that directory. Where to get it: {corpus.source}"
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
    """Return the files of a corpus whose content differs from the files behind our benchmarks."""
    folder = find(name, directory)
    return [file for file, digest in _known(name).files.items() if checksum(folder / file) != digest]


def checksum(path: Path) -> str:
    """Compute the sha256 of a file's content, or of a folder's.

    For a `.gz` file it is the checksum of the decompressed content, because two compressions of the same data
    differ. For a folder it is that of the text that `sha256sum` prints for its files, sorted by name, without
    any README.
    """
    if path.is_dir():
        files = sorted(file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file())
        lines = (f"{checksum(path / file)}  {file}\n" for file in files if not file.endswith("README"))
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    with gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _known(name: str) -> Corpus:
    if name not in CORPORA:
        raise ValueError(f"There is no corpus {name!r}; choose one of {', '.join(CORPORA)}.")
    return CORPORA[name]


def _absent(corpus: Corpus, folder: Path) -> list[str]:
    return [file for file in corpus.files if not (folder / file).exists()]
