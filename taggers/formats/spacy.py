"""spaCy's DocBin, the binary `.spacy` files of `spacy convert` and `spacy train`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from taggers.formats.records import Reading, Record, RecordFormat, Values, scheme_of, token_spans
from taggers.formats.tokenizer import Token
from taggers.labels import schemes

if TYPE_CHECKING:
    from spacy.tokens import Doc

ZLIB = ("x\x9c", "x\x01", "x\xda", "x^")
CHUNKS = "chunks"
# Fields and the arguments of Doc's constructor.
ATTRIBUTES = {"upos": "pos", "xpos": "tags", "lemma": "lemmas", "feats": "morphs"}


class DocBinFormat(RecordFormat):
    """Docs with entities, tags, lemmas and the spans `chunks`; tokens of white space are skipped."""

    name = "spacy"
    title = "spaCy's DocBin"

    def matches(self, head: Sequence[str]) -> bool:
        return bool(head) and head[0].startswith(ZLIB) and not head[0].isascii()

    def records(self, data: bytes, line: int, reading: Reading) -> Iterator[Record]:
        DocBin, vocab = _spacy()
        try:
            docs = list(DocBin().from_bytes(data).get_docs(vocab))
        except Exception as error:  # spaCy, zlib and msgpack raise many kinds
            raise reading.refuse(
                f"cannot be read as spaCy's DocBin: {error}; is the file complete?", 1
            ) from None
        entities = any(doc.has_annotation("ENT_IOB") for doc in docs)
        for number, doc in enumerate(docs, 1):
            yield _record(doc, number, entities=entities)

    def dump(self, records: Sequence[Record]) -> bytes:
        DocBin, vocab = _spacy()
        scheme = scheme_of(records)
        docs = [_doc(record, scheme, vocab) for record in records]
        return bytes(DocBin(docs=docs, store_user_data=True).to_bytes())


def _spacy() -> tuple[Any, Any]:
    try:
        from spacy.tokens import DocBin
        from spacy.vocab import Vocab
    except ModuleNotFoundError:
        raise ValueError(
            '.spacy files need spaCy; install it with pip install "structsvm-nlp[spacy]"'
        ) from None
    return DocBin, Vocab()


def _record(doc: Doc, number: int, *, entities: bool) -> Record:
    kept = [token for token in doc if not token.text.isspace()]
    sentences: list[list[Token]] = []
    for at, token in enumerate(kept):
        if at == 0 or token.is_sent_start:
            sentences.append([])
        sentences[-1].append(Token(token.text, token.idx, token.idx + len(token)))
    record = Record(doc.text, sentences, line=number, name=str(number), raw=doc)
    values = record.values
    if entities:
        values["ner"] = [_entity(token) for token in kept]
    groups = [name for name in doc.spans if name == CHUNKS] or ([] if entities else list(doc.spans))
    if len(groups) == 1:
        values["chunk"] = _group(doc, kept, groups[0])
    for name, attribute in (("upos", "pos_"), ("xpos", "tag_"), ("lemma", "lemma_"), ("feats", "morph")):
        found: Values = [str(getattr(token, attribute)) or None for token in kept]
        if any(found):
            values[name] = found
    return record


def _entity(token: Any) -> str | None:
    return {"": None, "O": "O"}.get(
        token.ent_iob_, f"{token.ent_iob_}-{token.ent_type_}" if token.ent_type_ else "O"
    )


def _group(doc: Doc, kept: Sequence[Any], name: str) -> Values:
    labels: Values = ["O"] * len(doc)
    for span in sorted(doc.spans[name], key=lambda one: (one.start, -one.end)):
        if all(label == "O" for label in labels[span.start : span.end]):
            labels[span.start : span.end] = schemes.encode([(span.label_, 0, len(span))], len(span), "IOB2")
    return [labels[token.i] for token in kept]


def _attach(doc: Doc, record: Record, place: Sequence[int]) -> None:
    """Set the heads and labels of words; white space depends on the token before it."""
    from spacy.attrs import DEP, HEAD

    offsets, names = np.full(len(doc), -1), np.zeros(len(doc), np.uint64)
    offsets[:1] = 0
    sizes = [len(sentence) for sentence in record.sentences]
    firsts = [
        first for first, size in zip(accumulate(sizes, initial=0), sizes, strict=False) for _ in range(size)
    ]
    heads, labels = (record.values[name] for name in ("head", "deprel"))
    for at, (first, head, label) in enumerate(zip(firsts, heads, labels, strict=True)):
        target = at if head in (None, "0") else first + int(head) - 1
        offsets[place[at]] = place[target] - place[at]
        names[place[at]] = doc.vocab.strings.add("ROOT" if label == "root" else label or "dep")
    rows = np.stack([offsets.astype(np.uint64), names], 1)
    doc.from_array([HEAD, DEP], rows)  # type: ignore[arg-type]


def _doc(record: Record, scheme: str, vocab: Any) -> Doc:
    """A Doc: the one that was read, or a new one with tokens of white space where the text needs them."""
    from spacy.parts_of_speech import IDS
    from spacy.tokens import Doc, Span

    doc: Doc
    if isinstance(record.raw, Doc):
        doc = record.raw.copy()
        place = [token.i for token in doc if not token.text.isspace()]
    else:
        words, spaces, place = _layout(record)
        starts: list[bool | int | None] = [False] * len(words)
        at = 0
        for sentence in record.sentences:
            starts[place[at]] = True
            at += len(sentence)
        if starts:
            starts[0] = True
        doc = Doc(vocab, words=words, spaces=spaces, sent_starts=starts)
        universal = all(value is None or value in IDS for value in record.values.get("upos") or ())
        upos = "pos_" if universal else "tag_"  # a table may call Penn tags pos
        for name, key in (("upos", upos), ("xpos", "tag_"), ("lemma", "lemma_"), ("feats", "morph")):
            for at, value in zip(place, record.values.get(name) or (), strict=False):
                if value is not None:
                    _set(doc[at], key, value)
    if "head" in record.values:
        _attach(doc, record, place)
    values = record.value("label")
    if values is None:
        return doc
    if scheme == "none":
        for at, value in zip(place, values, strict=True):
            if value is not None and values is not record.values.get("upos"):
                doc[at].tag_ = value
        return doc
    spans = [
        Span(doc, place[first], place[end - 1] + 1, label=kind)
        for kind, first, end in token_spans(record, scheme)
    ]
    if "ner" not in record.values and "label" not in record.values:
        doc.spans[CHUNKS] = spans
        return doc
    missing = [doc[place[at] : place[at] + 1] for at, value in enumerate(values) if value is None]
    doc.set_ents(spans, missing=missing, default="outside")
    return doc


def _set(token: Any, key: str, value: str) -> None:
    if key == "morph":
        token.set_morph("" if value == "_" else value)
    else:
        setattr(token, key, value)


def _layout(record: Record) -> tuple[list[str], list[bool], list[int]]:
    """The words and spaces of a Doc with the text of a record, and the places of its tokens."""
    words: list[str] = []
    spaces: list[bool] = []
    place = []
    at = 0
    for token in record.tokens:
        gap = record.text[at : token.start]
        if gap.startswith(" ") and words:
            spaces[-1], gap = True, gap[1:]
        if gap:
            words.append(gap)
            spaces.append(False)
        place.append(len(words))
        words.append(token.text)
        spaces.append(False)
        at = token.end
    rest = record.text[at:]
    if rest.startswith(" ") and words:
        spaces[-1], rest = True, rest[1:]
    if rest:
        words.append(rest)
        spaces.append(False)
    return words, spaces, place


FORMAT = DocBinFormat()
