"""Read gold labels from spaCy's Examples: one per token of the predicted doc, None where it is missing."""

from __future__ import annotations

import numpy as np
from spacy.attrs import ENT_IOB, ENT_TYPE, ORTH
from spacy.training import Example

from taggers.labels.parts import JOINT
from taggers.labels.schemes import encode, split

Gold = list[str | None]


def same_tokens(example: Example) -> bool:
    """Return whether both docs have the same tokens, so that no alignment is needed."""
    x, y = example.predicted, example.reference
    return len(x) == len(y) and np.array_equal(x.to_array(ORTH), y.to_array(ORTH))


def attribute_gold(example: Example, names: list[str]) -> Gold:
    """Return the values of token attributes; those of several attributes are joined."""
    strings = example.reference.vocab.strings
    same = same_tokens(example)
    columns = []
    for name in names:
        ids = example.reference.to_array(name).tolist() if same else example.get_aligned(name)
        columns.append([strings[key] if key else None for key in ids])
    joint = JOINT if "MORPH" in names else "|"
    return [None if None in values else joint.join(values) for values in zip(*columns, strict=True)]


def entity_gold(example: Example) -> Gold:
    """Return the entities as IOB2 labels."""
    gold: Gold
    if same_tokens(example):
        strings = example.reference.vocab.strings
        pairs = example.reference.to_array([ENT_IOB, ENT_TYPE]).tolist()
        named = {pair: _iob(pair[0], strings[pair[1]]) for pair in set(map(tuple, pairs))}
        gold = [named[iob, type_] for iob, type_ in pairs]
    else:
        gold = [_from_biluo(label) for label in example.get_aligned_ner()]
    if negative := next((one for one in gold if one is not None and one[1:].startswith("-!")), None):
        raise ValueError(
            f"an entity has the label {negative[2:]!r}, but known errors cannot be learned; "
            "mark their tokens as missing, or give the right entity"
        )
    return gold


def span_gold(example: Example, key: str) -> Gold:
    """Return a group of spans as IOB2 labels; without such a group, all labels are missing."""
    if key not in example.reference.spans:
        return [None] * len(example.predicted)
    spans = list(example.reference.spans[key])
    if not same_tokens(example):
        spans = example.get_aligned_spans_y2x(spans)
    try:
        phrases = [(span.label_, span.start, span.end) for span in spans]
        return list(encode(phrases, len(example.predicted), "IOB2"))
    except ValueError as error:
        raise ValueError(f"the spans {key!r} of a doc cannot be learned as chunks: {error}") from None


def phrase_labels(types: list[str]) -> list[str]:
    """Return the IOB2 labels for these types of phrases."""
    return [*[f"{prefix}-{type_}" for type_ in types for prefix in "BI"], "O"]


def phrase_types(labels: list[str]) -> list[str]:
    """Return the types of phrases in labels of any scheme."""
    return sorted({split(label)[1] for label in labels if label != "O"})


def _iob(iob: int, type_: str) -> str | None:
    return {0: None, 1: f"I-{type_}", 2: "O", 3: f"B-{type_}" if type_ else "O"}[iob]


def _from_biluo(label: str | None) -> str | None:
    if label in (None, "-", ""):
        return None
    prefix, type_ = split(str(label))
    return {"U": f"B-{type_}", "L": f"I-{type_}"}.get(prefix, label)
