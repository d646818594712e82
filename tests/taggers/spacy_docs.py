"""Made-up sentences as spaCy's Docs and Examples."""

from __future__ import annotations

from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.vocab import Vocab

from taggers.labels.schemes import spans
from tests.taggers.sentences import sentences


def entities(tokens: list[tuple[str, str, str]]) -> list[str]:
    """Names as entities, IOB2: PLACE or PERSON, which spaCy numbers itself."""
    kinds = {"Anna": "PERSON", "Otto": "PERSON", "Turin": "PLACE", "Quito": "PLACE"}
    labels: list[str] = []
    for word, _, _ in tokens:
        kind = kinds.get(word)
        goes_on = bool(kind and labels and labels[-1] in (f"B-{kind}", f"I-{kind}"))
        labels.append(f"{'I' if goes_on else 'B'}-{kind}" if kind else "O")
    return labels


def example(vocab: Vocab, tokens: list[tuple[str, str, str]]) -> Example:
    """With tags, chunks and entities; the tags are in the predicted doc too."""
    words, tags, chunks = map(list, zip(*tokens, strict=True))
    predicted, reference = Doc(vocab, words=words, tags=tags), Doc(vocab, words=words, tags=tags)
    reference.spans["chunks"] = [Span(reference, a, b, label=kind) for kind, a, b in spans(chunks, "IOB2")]
    reference.set_ents([Span(reference, a, b, label=kind) for kind, a, b in spans(entities(tokens), "IOB2")])
    return Example(predicted, reference)


def examples(vocab: Vocab, n: int, seed: int = 0) -> list[Example]:
    return [example(vocab, tokens) for tokens in sentences(n, seed)]


def as_entity_columns(n: int, seed: int = 0) -> bytes:
    """Words and entities as a file of two columns."""
    made = [(tokens, entities(tokens)) for tokens in sentences(n, seed)]
    lines = [
        [f"{t[0]} {label}\n" for t, label in zip(tokens, labels, strict=True)] for tokens, labels in made
    ]
    return "\n".join("".join(block) for block in lines).encode()
