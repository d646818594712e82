"""Read Docs as columns of hashes; spaCy's string ids are our hashes, so strings are not copied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from spacy.attrs import IDS, IS_SPACE, SENT_START
from spacy.symbols import IDS as SYMBOLS
from spacy.tokens import Doc, Token

from taggers.features._lexicon import hash_string
from taggers.formats._columns import Columns

ATTRIBUTES = ("ORTH", "LOWER", "NORM", "LEMMA", "SHAPE", "PREFIX", "SUFFIX", "TAG", "POS", "MORPH", "DEP",
              "ENT_TYPE")  # fmt: skip
# From the tokens of a sentence to the features of each: a dict or a list, as in python-crfsuite.
FeatureFunction = Callable[[list[Token]], Iterable[Any]]
# spaCy gives some names (NOUN, PERSON, ...) small numbers instead of hashes.
_NUMBERED = {number: hash_string(name) for name, number in SYMBOLS.items() if name}
_HASHES = np.array([_NUMBERED.get(number, 0) for number in range(max(_NUMBERED) + 1)], np.uint64)
_NAMES = {hash_string(name): name for name in SYMBOLS if name}


@dataclass(frozen=True)
class Batch:
    """The sentences of some docs in one row, without tokens of white space.

    tokens: the index of each token in the concatenated docs. bounds: where each
    doc begins there, and the end. features: those of each token, for a model that reads no columns.
    """

    columns: Columns
    tokens: np.ndarray
    bounds: list[int]
    features: list[list[Any]] | None = None

    @property
    def X(self) -> Any:
        """The features if there are any, else the columns."""
        return self.columns if self.features is None else self.features

    def sentences(self) -> list[tuple[int, int, int]]:
        """Return (doc, first token, end) of each sentence."""
        ptr = self.columns.sentence_ptr.tolist()
        owners = np.searchsorted(self.bounds, self.tokens[ptr[:-1]], "right") - 1
        return [(doc, *bounds) for doc, bounds in zip(owners.tolist(), pairwise(ptr), strict=True)]


def text_of(docs: Sequence[Doc]) -> Callable[[int], str]:
    """Return a function from our hashes to texts.

    The texts are in the vocab of each doc. The vocab of the component may be another one, because
    `nlp.add_pipe(..., source=...)` leaves the component that of its source.
    """
    stores: list[Any] = list({id(doc.vocab): doc.vocab.strings for doc in docs}.values())
    return lambda key: _NAMES.get(key) or next(strings[key] for strings in stores if key in strings)


def hashes(ids: np.ndarray) -> np.ndarray:
    """Return our hashes for spaCy's string ids."""
    numbered = ids < len(_HASHES)
    if numbered.any():
        ids = ids.copy()
        ids[numbered] = _HASHES[ids[numbered].astype(np.intp)]
    return ids


def attribute_ids(names: Sequence[str]) -> list[int]:
    """Return spaCy's numbers of the attributes; raise an error for one that cannot be a column."""
    for name in names:
        if name not in ATTRIBUTES:
            raise ValueError(f"columns must be among {', '.join(ATTRIBUTES)}, got {name!r}")
    return [IDS[name] for name in names]


def ready_features(docs: Sequence[Doc], batch: Batch, function: FeatureFunction) -> list[list[Any]]:
    """Return the features that a function returns for the tokens of each sentence."""
    tokens = [token for doc in docs for token in doc]
    kept = [tokens[at] for at in batch.tokens.tolist()]
    found = []
    for start, end in pairwise(batch.columns.sentence_ptr.tolist()):
        features = list(function(kept[start:end]))
        if len(features) != end - start:
            raise ValueError(
                f"the function in the setting features returned {len(features)} items for a sentence of "
                f"{end - start} tokens; return one for each token"
            )
        found.append(features)
    return found


def read_docs(docs: Sequence[Doc], columns: Sequence[str], *, whole: bool = False) -> Batch:
    """Return the sentences of docs as columns; a doc without sentence boundaries is one sentence.

    whole: treat each doc as one sentence, even if it has sentence boundaries.
    """
    attributes = [*attribute_ids(columns), SENT_START, IS_SPACE]
    arrays = [doc.to_array(attributes) for doc in docs] or [np.zeros((0, len(attributes)), np.uint64)]
    values = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
    bounds = list(accumulate(map(len, docs), initial=0))
    starts = (values[:, -2] == 1) & (not whole)
    starts[[start for start, end in pairwise(bounds) if start < end]] = True
    ptr = np.append(np.flatnonzero(starts), len(values))
    space = values[:, -1] == 1
    tokens = np.arange(len(values))
    if space.any():
        tokens = tokens[~space]
        values, ptr = values[tokens], np.unique(np.searchsorted(tokens, ptr))
    keys = hashes(values[:, :-2])
    for name, used in zip(columns, np.any(keys, axis=0).tolist(), strict=True):
        if len(keys) and not used:
            raise ValueError(
                f"no token has {name}, which the features need; add a component that sets it before "
                "this one (in training, also name it in annotating_components of spacy train or annotates of "
                "nlp.update; for nlp.rehearse, run it on the docs first), or choose other columns"
            )
    found = Columns.from_keys(keys, ptr, text_of(docs), name="<docs>")
    found.documents = np.searchsorted(tokens[ptr[:-1]], bounds[:-1])
    return Batch(found, tokens, bounds)
