"""Label schemes: how phrases of several words are written as one label per word.

    IOB1     I-x inside; B-x only where a phrase of type x follows another one directly
    IOB2     B-x at the beginning of every phrase, I-x after it
    IOBES    B-x, I-x, E-x: first, middle, last word; S-x: the only word
    BILUO    the same with L-x for E-x and U-x for S-x
    BMES     the same as IOBES with M-x for I-x
    BMEWO    the same as IOBES with M-x for I-x and W-x for S-x
    none     labels that mark no phrases, such as parts of speech

A word in no phrase is `O`. A label is split at its first hyphen, so types may contain some (`B-per-name`); a
bare `B` has the empty type. Labels out of place (an I-x after O in IOB2) are read as conlleval reads them: a
phrase begins at B or S, after E or S, after O, and where the type changes. So where a phrase begins and ends
depends on neighbouring labels only, and every function here is a rule on a label and its two neighbours.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cache

import numpy as np

from taggers.options import SCHEMES

OUTSIDE = "O"
OPENING = frozenset("BSUW")
CLOSING = frozenset("ESLUW")

# In schemes of four: the first, middle and last word, and the only word.
_PREFIXES = {
    "IOB1": "IB", "IOB2": "BI", "IOBES": "BIES", "BILUO": "BILU", "BMES": "BMES", "BMEWO": "BMEW",
}  # fmt: skip

LETTERS = frozenset("BIESLUMW")

# Other ways to write labels, as patterns for prefix and type: B_PER, b-per, PER-B and PER_B.
_SPELLINGS = tuple(
    re.compile(pattern)
    for pattern in (
        "(?P<prefix>[BIESLUMW])_(?P<type>.+)", "(?P<prefix>[bieslumw])[-_](?P<type>.+)",
        "(?P<type>.+)[-_](?P<prefix>[BIESLUMW])", "(?P<type>.+)[-_](?P<prefix>[bieslumw])",
    )
)  # fmt: skip

ORDER = ("IOB2", "IOB1", "IOBES", "BILUO", "BMES", "BMEWO")  # for labels that fit several schemes

MOST_RULES = 1 << 16

Span = tuple[str, int, int]
Triple = tuple[str, str, str]


def split(label: str) -> tuple[str, str]:
    """Split a label into prefix and type: "B-per-name" into "B" and "per-name", "O" into "O" and ""."""
    prefix, _, type_ = label.partition("-")
    return prefix, type_


def untyped(label: str) -> str:
    """A label that does not say the type of the phrase.

    >>> untyped("B-PER"), untyped("I-LOC"), untyped("O")
    ('B-X', 'I-X', 'O')
    """
    prefix, type_ = split(label)
    return _join(prefix, "X") if type_ else label


def alike(labels: Iterable[str], others: Iterable[str]) -> bool:
    """Whether some of the labels are among the others, or mark phrases of the same type in any scheme.

    >>> alike(["U-PER"], ["B-PER", "O"]), alike(["NN"], ["B-PER", "O"])
    (True, False)
    """
    first, second = (
        {split(label)[1] if split(label)[0] in LETTERS else f"-{label}" for label in part}
        for part in (labels, others)
    )
    return bool(first & second)


def marks_phrase(label: str) -> bool:
    """Whether a label has a prefix and a type, as B-x does."""
    prefix, type_ = split(label)
    return prefix in LETTERS and type_ != ""


def respelled(labels: Collection[str]) -> dict[str, str]:
    """The usual names of labels that are written as B_PER, b-per, PER-B or PER_B; empty if they are not.

    labels: all distinct labels. Only if O is among them and all others are written in the same way, they
    mark phrases beyond doubt.

    >>> respelled({"PER-B", "PER-I", "O"}) == {"PER-B": "B-PER", "PER-I": "I-PER"}
    True
    >>> respelled({"PER-B", "NN", "O"}), respelled({"V-S", "N-S", "O"})
    ({}, {})
    """
    others = {label for label in labels if label not in (OUTSIDE, "o", "")}
    if len(others) + 1 > len(labels) or any(map(marks_phrase, others)):
        return {}
    for pattern in _SPELLINGS:
        found = {label: match for label in others if (match := pattern.fullmatch(label))}
        if len(found) == len(others) and {match["prefix"] for match in found.values()} & set("BIbi"):
            usual = {label: f"{match['prefix'].upper()}-{match['type']}" for label, match in found.items()}
            return usual | ({"o": OUTSIDE} if "o" in labels else {})
    return {}


def typed(labels: Collection[str]) -> dict[str, str]:
    """The same for labels of the scheme IO, which are only types: PER becomes I-PER.

    >>> typed({"PER", "O"}), typed({"B-PER", "O"}), typed({"NN", "DT"})
    ({'PER': 'I-PER'}, {}, {})
    """
    others = {label for label in labels if label != OUTSIDE}
    bare = len(others) < len(labels) and not any(label in LETTERS or marks_phrase(label) for label in others)
    return {label: f"I-{label}" for label in others} if bare else {}


def detect(label_sequences: Iterable[Sequence[str]]) -> str:
    """Return the scheme that needs the fewest repairs, or "none" where labels fit no scheme or are all O."""
    return detect_counted(count_triples(label_sequences))


def detect_counted(seen: Counter[Triple]) -> str:
    """Return the same for labels that `count_triples` or `count_id_triples` has counted."""
    inside = {split(label)[0] for _, label, _ in seen if label != OUTSIDE}
    candidates = [scheme for scheme in ORDER if inside <= set(_PREFIXES[scheme])]
    if not inside or not candidates:
        return "none"
    return min(candidates, key=lambda scheme: count_repairs(seen, scheme))


def has(scheme: str, labels: Iterable[str]) -> bool:
    """Return whether all labels can occur in a scheme."""
    return all(label == OUTSIDE or split(label)[0] in tuple(_PREFIXES[scheme]) for label in labels)


def convert(labels: Sequence[str], source: str, target: str, *, strict: bool = False) -> list[str]:
    """Write the phrases of `labels` in another scheme, or repaired in the same one.

    Labels out of place are repaired, unless `strict` makes them a ValueError; `violations` counts them.
    """
    check(source)
    check(target)
    if "none" in (source, target):
        if source != target:
            raise ValueError(f"Labels cannot be converted from scheme {source} to {target}.")
        return list(labels)
    if strict and (wrong := violations(labels, source)):
        raise ValueError(f"Label {labels[wrong[0]]!r} at position {wrong[0]} is out of place in {source}.")
    rules = _rules(source, target)
    return [rules[triple] for triple in neighbours(labels)]


def violations(labels: Sequence[str], scheme: str) -> list[int]:
    """Return the positions whose label is out of place, that is, which repairing would change."""
    return [at for at, new in enumerate(convert(labels, scheme, scheme)) if new != labels[at]]


def count_violations(label_sequences: Iterable[Sequence[str]], scheme: str) -> int:
    """Return how many labels are out of place, of a scheme that has them all."""
    return count_repairs(count_triples(label_sequences), scheme)


def spans(labels: Sequence[str], scheme: str) -> list[Span]:
    """Return the phrases as (type, start, end), end excluded, in order."""
    if scheme == "none":
        raise ValueError("Labels of scheme none have no spans.")
    found: list[Span] = []
    start = 0
    for at, label in enumerate(convert(labels, scheme, "IOBES")):
        prefix, type_ = split(label)
        if prefix in OPENING:
            start = at
        if prefix in CLOSING:
            found.append((type_, start, at + 1))
    return found


def encode(phrases: Iterable[Span], length: int, scheme: str) -> list[str]:
    """Write spans that do not overlap as `length` labels: the inverse of `spans`."""
    labels = [OUTSIDE] * length
    for type_, start, end in phrases:
        if not 0 <= start < end <= length or any(label != OUTSIDE for label in labels[start:end]):
            raise ValueError(f"Span {(type_, start, end)} overlaps another or leaves the {length} words.")
        labels[start:end] = [_join("B", type_)] + [_join("I", type_)] * (end - start - 1)
    return convert(labels, "IOB2", scheme)


def allowed(labels: Sequence[str], scheme: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return which labels may start a sequence, follow one another, and end it: (start_ok, ok, end_ok).

    ok[i, j] is whether labels[j] may follow labels[i]. A sequence passes all three exactly when `violations`
    finds nothing in it. With `O` among the labels, sequences of every length pass.
    """
    check(scheme)
    if scheme == "none":
        size = len(labels)
        return np.ones(size, bool), np.ones((size, size), bool), np.ones(size, bool)
    for label in labels:
        _check_label(label, scheme)
    prefix, types = _parts([*labels, OUTSIDE])  # O also stands for the tokens beyond both ends
    inside = prefix != OUTSIDE
    alike = inside[:, None] & inside & (types[:, None] == types)
    opens, closes = (np.isin(prefix, list(group)) for group in (OPENING, CLOSING))
    if scheme == "IOB1":
        ok = alike | (prefix != "B")
    else:
        boundary = ~alike | closes[:, None] | opens
        ok = ~inside | (opens == boundary)
        if scheme != "IOB2":
            ok &= ~inside[:, None] | (closes[:, None] == boundary)
    return ok[-1, :-1], ok[:-1, :-1], ok[:-1, -1]


def _parts(labels: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The prefix of each label, and a number for its type."""
    parts = [split(label) for label in labels]
    number = {type_: index for index, type_ in enumerate({type_ for _, type_ in parts})}
    return np.array([prefix for prefix, _ in parts]), np.array([number[type_] for _, type_ in parts])


def renamed(label: str, source: str, target: str) -> str:
    """The label in another scheme, where that depends on the label alone: not in IOB1, and not from IOB2.

    >>> renamed("S-LOC", "IOBES", "IOB2"), renamed("E-LOC", "IOBES", "BILUO")
    ('B-LOC', 'L-LOC')
    """
    prefix, type_ = split(label)
    if label == OUTSIDE or source == target:
        return label
    if target == "IOB1" or source in ("IOB1", "IOB2"):
        raise ValueError(f"labels of {source} have no probabilities in {target}; set labels to {target}")
    opens, closes = prefix in OPENING, prefix in CLOSING
    if target == "IOB2":
        return _join("B" if opens else "I", type_)
    return _join(_PREFIXES[target][3 if opens and closes else 2 if closes else 0 if opens else 1], type_)


class _Rules(dict[Triple, str]):
    """The new form of each label between its neighbours, computed when needed: data has few such triples."""

    def __init__(self, source: str, target: str) -> None:
        self.source, self.target = source, target

    def __missing__(self, triple: Triple) -> str:
        if len(self) >= MOST_RULES:  # a stream of new labels must not fill the memory
            self.clear()
        _check_label(triple[1], self.source)
        self[triple] = label = _relabel(*triple, self.target)
        return label


_rules = cache(_Rules)


def _relabel(before: str, label: str, after: str, target: str) -> str:
    """Write one label, given its neighbours, in the target scheme."""
    if label == OUTSIDE:
        return label
    opens, closes = _boundary(before, label), _boundary(label, after)
    type_ = split(label)[1]
    if target == "IOB1":
        opens = opens and before != OUTSIDE and split(before)[1] == type_
    if target in ("IOB1", "IOB2"):
        return _join("B" if opens else "I", type_)
    first, middle, last, single = list(_PREFIXES[target])
    if closes:
        return _join(single if opens else last, type_)
    return _join(first if opens else middle, type_)


def _boundary(label: str, after: str) -> bool:
    """Whether a phrase ends between one label and the next."""
    (left, left_type), (right, right_type) = split(label), split(after)
    return OUTSIDE in (left, right) or left_type != right_type or left in CLOSING or right in OPENING


def neighbours(labels: Sequence[str]) -> Iterable[Triple]:
    """Each label between its neighbours, with O beyond both ends."""
    return zip((OUTSIDE, *labels), labels, (*labels[1:], OUTSIDE), strict=False)


def count_triples(label_sequences: Iterable[Sequence[str]]) -> Counter[Triple]:
    """Count how often each label occurs between which neighbours."""
    flat: list[str] = []
    for labels in label_sequences:
        if len(labels):
            flat += labels
            flat.append(OUTSIDE)  # an O between sequences says what their ends say
    return Counter(neighbours(flat))


def count_id_triples(ids: np.ndarray, names: Sequence[str], sentence_ptr: np.ndarray) -> Counter[Triple]:
    """Count the same for positions in `names`, where neither the label nor a neighbour is negative."""
    around = [*names, OUTSIDE]
    size = len(around)
    before, after = _neighbour_ids(ids, sentence_ptr, len(names))
    known = (before >= 0) & (ids >= 0) & (after >= 0)
    codes = ((before.astype(np.int64) * size + ids) * size + after)[known]
    found, counts = np.unique(codes, return_counts=True)
    seen: Counter[Triple] = Counter()
    for code, count in zip(found.tolist(), counts.tolist(), strict=True):
        rest, last = divmod(code, size)
        first, middle = divmod(rest, size)
        seen[around[first], around[middle], around[last]] += count
    return seen


def _neighbour_ids(ids: np.ndarray, sentence_ptr: np.ndarray, edge: int) -> tuple[np.ndarray, np.ndarray]:
    """The ids before and after each one, `edge` beyond the ends of a sentence."""
    before, after = np.empty_like(ids), np.empty_like(ids)
    before[1:], after[:-1] = ids[:-1], ids[1:]
    filled = sentence_ptr[1:] > sentence_ptr[:-1]
    before[sentence_ptr[:-1][filled]] = edge
    after[sentence_ptr[1:][filled] - 1] = edge
    return before, after


def ids_out_of_place(
    ids: np.ndarray, names: Sequence[str], sentence_ptr: np.ndarray, scheme: str
) -> np.ndarray:
    """Return the tokens whose label is out of place, for positions in `names`; missing ones (-1) are not."""
    if not len(names):
        return np.zeros(0, np.int64)
    rewrite = Rewriter(names, scheme, scheme)
    number = {name: k for k, name in enumerate(rewrite.names)}
    unchanged = np.array([number.get(name, -1) for name in names])
    return np.flatnonzero((ids >= 0) & (rewrite(ids, sentence_ptr) != unchanged[ids]))


def count_repairs(seen: Counter[Triple], scheme: str) -> int:
    """Return how many of the counted labels are out of place."""
    return sum(count for triple, count in seen.items() if is_repaired(triple, scheme))


def is_repaired(triple: Triple, scheme: str) -> bool:
    """Return whether a label is out of place between its neighbours."""
    return _relabel(*triple, scheme) != triple[1]


def _join(prefix: str, type_: str) -> str:
    return f"{prefix}-{type_}" if type_ else prefix


def check(scheme: str) -> None:
    """Raise an error for an unknown scheme."""
    if scheme not in SCHEMES:
        raise ValueError(f"Label scheme must be one of {', '.join(SCHEMES)}, got {scheme!r}.")


def _check_label(label: str, scheme: str) -> None:
    if not has(scheme, [label]):
        expected = ", ".join(f"{prefix}-" for prefix in _PREFIXES[scheme])
        raise ValueError(f"Label {label!r} is not of scheme {scheme}: expected O or a label with {expected}.")


class Rewriter:
    """Rewrites arrays of label ids from one scheme to another: `convert`, with table lookups.

    A label's new form depends on itself and on whether a phrase begins before it and ends after it.
    """

    def __init__(self, labels: Sequence[str], source: str, target: str) -> None:
        beyond = [*labels, OUTSIDE]  # O also stands for the tokens beyond both ends
        convert(labels, source, target)  # refuses labels of other schemes
        prefix, types = _parts(beyond)
        inside = prefix != OUTSIDE
        alike = inside[:, None] & inside & (types[:, None] == types)
        self._bounds = ~alike | np.isin(prefix, list(CLOSING))[:, None] | np.isin(prefix, list(OPENING))
        self._opens = self._bounds & alike if target == "IOB1" else self._bounds
        numbers: dict[str, int] = {}
        forms = [self._forms_of(label, target, numbers) for label in labels]
        self._forms = np.array(forms, np.int32).reshape(-1, 4)
        self.names = list(numbers)

    def _forms_of(self, label: str, target: str, numbers: dict[str, int]) -> list[int]:
        """The ids of a label's four forms: inside, at the end, at the beginning, alone."""
        type_ = split(label)[1]
        same = _join("I", type_)
        forms = []
        for opens in (False, True):
            before = (same if target == "IOB1" else OUTSIDE) if opens else same
            opener = _join("B", type_) if opens else same
            for after in (same, OUTSIDE):
                name = label if label == OUTSIDE else _relabel(before, opener, after, target)
                forms.append(numbers.setdefault(name, len(numbers)))
        return forms

    def __call__(self, ids: np.ndarray, sentence_ptr: np.ndarray) -> np.ndarray:
        """The ids of the new labels, among `names`."""
        before, after = _neighbour_ids(ids, sentence_ptr, len(self._forms))
        form = 2 * self._opens[before, ids] + self._bounds[ids, after]
        return self._forms[ids, form]
