"""`structsvm.Columns.v1`: read CoNLL files as a corpus for `spacy train`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import registry
from spacy.vocab import Vocab

from structsvm.files.errors import DataError
from structsvm.validation import check_count
from taggers.formats._columns import Columns
from taggers.formats.base import Format
from taggers.formats.conllu import FORMAT as CONLLU
from taggers.formats.conllu_checks import check_conllu
from taggers.formats.files import CHUNK as PART
from taggers.formats.files import Opened, open_columns
from taggers.labels import schemes

WORD, CHUNK, NER, SKIP = "ORTH", "CHUNK", "NER", "_"
HEAD, DEP = "HEAD", "DEP"
# Columns of a file that are attributes of tokens, and what Doc's constructor calls them.
TOKEN = {"TAG": "tags", "POS": "pos", "LEMMA": "lemmas", "MORPH": "morphs"}
GETTERS = {"TAG": "tag_", "POS": "pos_", "LEMMA": "lemma_", "MORPH": "morph"}
NAMES = (WORD, *TOKEN, CHUNK, NER, SKIP)  # of files whose columns have no names
# Where the format names its columns.
NAMED = {
    "ORTH": "form", "LEMMA": "lemma", "POS": "upos", "TAG": "xpos", "MORPH": "feats", "NER": "label",
    HEAD: "head", DEP: "deprel",
}  # fmt: skip


@registry.readers("structsvm.Columns.v1")
def make_reader(
    path: str | None,
    columns: list[str] | None = None,
    inputs: list[str] = [],  # noqa: B006, spaCy wants a list here, and nobody changes it
    spans_key: str = "chunks",
    format: str = "auto",
    encoding: str = "utf-8",
    limit: int = 0,
    sentences: int = 1,
) -> Callable[[Language], Iterator[Example]]:
    """Return a corpus from a file of columns (CoNLL-2000/2002/2003), CoNLL-U, a `.spacy` file or documents.

    columns: ORTH, TAG, POS, LEMMA, MORPH, CHUNK, NER, or _ for a column to skip; not needed for CoNLL-U.
    inputs: attributes that the docs have before the pipeline runs, such as TAG for a chunker.
    limit: the number of sentences to read, 0 for all. sentences: the number of sentences in a Doc. A `.spacy`
    file has Docs, which are counted and joined instead.
    """
    check_count(sentences=sentences, low=1)
    if path is None:
        raise ValueError("this corpus has no file; pass --paths.train and --paths.dev on the command line")
    for name in [*(columns or ()), *inputs]:
        if name not in NAMES:
            raise ValueError(f"columns must be among {', '.join(NAMES)}, got {name!r}")
    for name in inputs:
        if name not in TOKEN:
            raise ValueError(f"inputs must be among {', '.join(TOKEN)}, got {name!r}")

    checked = False

    def read(nlp: Language) -> Iterator[Example]:
        nonlocal checked
        scheme: dict[str, str] = {}
        count = 0
        size = PART if checked else None  # the whole file at first, for the check
        with open_columns(path, format, encoding=encoding) as opened:
            if opened.format.name == "spacy":
                yield from islice(_docs(nlp, opened, inputs), limit or None)
                return
            named = places(opened.format, columns)
            if not opened.format.names and len(columns or ()) != opened.n_columns:
                raise DataError(
                    f"{opened.n_columns} columns, but {len(columns or ())} are named "
                    f"({', '.join(columns or ())}); name all columns, with _ for one to skip", path,
                )  # fmt: skip
            for chunk in opened.parts(list(named.values()), size):
                if chunk.n_tokens and chunk.format is CONLLU and not checked:
                    check_conllu(chunk.data, chunk.name)
                for example in examples(nlp.vocab, chunk, list(named), inputs, spans_key, scheme):
                    yield example
                    count += 1
                    if count == limit:
                        return
        checked = True  # `spacy train` reads the file many times

    def corpus(nlp: Language) -> Iterator[Example]:
        found = read(nlp)
        while group := list(islice(found, sentences)):
            yield group[0] if len(group) == 1 else _joined(group)

    return corpus


def _docs(nlp: Language, opened: Opened, inputs: list[str]) -> Iterator[Example]:
    """Yield the Docs of a .spacy file."""
    (columns,) = opened.parts([opened.format.words], None)
    for record in columns.origin or ():
        reference = Doc(nlp.vocab).from_bytes(record.raw.to_bytes())
        words, spaces = [token.text for token in reference], [bool(token.whitespace_) for token in reference]
        given: dict[str, Any] = {
            TOKEN[name]: [str(getattr(token, GETTERS[name])) for token in reference] for name in inputs
        }
        yield Example(Doc(nlp.vocab, words=words, spaces=spaces, **given), reference)


def _joined(examples: list[Example]) -> Example:
    """Join several examples into one."""
    sides = [(one.predicted, one.reference) for one in examples]
    predicted, reference = (Doc.from_docs(list(docs)) for docs in zip(*sides, strict=True))
    assert predicted is not None  # there are docs to join
    assert reference is not None
    return Example(predicted, reference)


def places(format: Format, columns: list[str] | None) -> dict[str, int]:
    """Return which column of a file holds what."""
    if format.names:
        known = {name: column for name, column in NAMED.items() if column in format.names}
        return {name: format.names.index(column) for name, column in known.items()}
    if columns is None or columns.count(WORD) != 1:
        raise ValueError(
            f'the columns of the file are unknown; name them, as in columns = ["{WORD}", "TAG", "{CHUNK}"], '
            'or set format = "conllu" for CoNLL-U'
        )
    return {name: place for place, name in enumerate(columns) if name != SKIP}


def examples(
    vocab: Vocab, chunk: Columns, names: list[str], inputs: list[str], spans_key: str, scheme: dict[str, str]
) -> Iterator[Example]:
    """Yield the sentences of a chunk; `scheme` keeps the label scheme of each column of phrases."""
    values = {name: chunk.sentences(place) for place, name in enumerate(names)}
    for name in (CHUNK, NER):
        if name in values and scheme.get(name, "none") == "none":
            scheme[name] = schemes.detect(map(_phrases, values[name]))
    for number, words in enumerate(values[WORD]):
        row = {name: sentences[number] for name, sentences in values.items()}
        try:
            given: dict[str, Any] = {TOKEN[name]: _present(row[name]) for name in TOKEN if name in row}
            predicted = Doc(vocab, words=words, **{TOKEN[name]: given[TOKEN[name]] for name in inputs})
            starts: Any = [True] + [False] * (len(words) - 1)
            trees = _arcs(row[HEAD], row[DEP]) if HEAD in row and DEP in row else {}
            reference = Doc(vocab, words=words, sent_starts=starts, **given, **trees)
            _set_phrases(reference, row, spans_key, scheme)
        except (KeyError, ValueError) as error:
            raise DataError(str(error), chunk.name, chunk.line(int(chunk.sentence_ptr[number]))) from None
        yield Example(predicted, reference)


def _present(values: list[str]) -> list[str]:
    return ["" if value == "_" else value for value in values]


def _arcs(heads: list[str], labels: list[str]) -> dict[str, Any]:
    """Return the tree of a sentence for Doc: there, the root is its own head. Without HEAD, there is none."""
    if set(heads) <= {"_"}:
        return {}
    numbers = []
    for at, head in enumerate(heads):
        if not (head.isascii() and head.isdigit() and len(head) < 10 and int(head) <= len(heads)):
            raise ValueError(
                f"HEAD of word {at + 1} must be a number from 0 to {len(heads)}, got {head!r:.50}"
            )
        numbers.append(int(head) - 1 if int(head) else at)
    return {"heads": numbers, "deps": ["ROOT" if label == "root" else label for label in labels]}


def _phrases(labels: list[str]) -> list[str]:
    return [schemes.OUTSIDE if label == "_" else label for label in labels]


def _set_phrases(doc: Doc, row: dict[str, list[str]], spans_key: str, scheme: dict[str, str]) -> None:
    def spans(name: str) -> list[Span]:
        if scheme[name] == "none":
            return []
        return [
            Span(doc, start, end, label=type_)
            for type_, start, end in schemes.spans(_phrases(row[name]), scheme[name])
        ]

    if NER in row:
        missing = [doc[at : at + 1] for at, label in enumerate(row[NER]) if label == "_"]
        if len(missing) < len(doc):
            doc.set_ents(spans(NER), missing=missing, default="outside")
    if CHUNK in row:
        doc.spans[spans_key] = spans(CHUNK)
