"""`ospas`, the semantic parser as a spaCy component: meanings in Doc._.mr, symbols in Token._.symbol."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacy.language import Language
from spacy.tokens import Doc, Span, Token
from spacy.training import Example, validate_get_examples
from spacy.util import registry

from structsvm.integrations.spacy import EstimatorPipe, factory

if TYPE_CHECKING:
    from semparse.ospas import Ospas
    from semparse.parse import Parse

FILE = "parser.ssvm"
SPANS = "mr"
EXTENSIONS = ("mr", "mr_score", "mr_margin", "mr_match", "mr_candidates")

for _name in EXTENSIONS:
    if not Doc.has_extension(_name):
        Doc.set_extension(_name, default=None)
if not Token.has_extension("symbol"):
    Token.set_extension("symbol", default=None)


class OspasPipe(EstimatorPipe):
    """Parse the meaning of a Doc, which is one sentence; punctuation and white space are skipped.

    It sets Doc._.mr (the text of the best meaning, or None), Doc._.mr_score, Doc._.mr_margin (its lead),
    Token._.symbol (the symbol that each word stands for) and doc.spans["mr"] (the same as spans, for
    displaCy). If Doc._.mr_candidates contains meanings, Doc._.mr_match is the candidate that is meant, or
    None.

    It learns from references with _.mr_candidates, one online step for each. `score` gives mr_acc and
    match_acc, the shares of right meanings and matches among references with _.mr.

    model: a file written by `Ospas.save` or `structsvm parse train`. options: the options of
    `semparse.Ospas`.
    """

    FILES = (FILE,)

    model: Ospas

    def _new(self) -> Ospas:
        from semparse.ospas import Ospas

        return Ospas(**self.options)

    def _load(self, path: str | Path) -> Ospas:
        from semparse.ospas import Ospas

        return Ospas.load(path)

    # -- training -------------------------------------------------------------------------------

    def initialize(
        self, get_examples: Callable[[], Iterable[Example]], *, nlp: Language | None = None
    ) -> None:
        """Start from scratch; a model file is read again."""
        validate_get_examples(get_examples, "OspasPipe.initialize")
        self.start_over()

    def _learn(self, examples: list[Example]) -> float:
        """Learn from the candidates of each example; return how many matches were wrong."""
        wrong = 0
        for example in examples:
            words, candidates = words_of(example.predicted), example.reference._.mr_candidates
            if words and candidates:
                tokens = [token.text for token in words]
                if self.trained:
                    known = {str(parse.mr) for parse in self.model.parse(tokens)}
                    wrong += known.isdisjoint(map(str, candidates))
                self.model.partial_fit(tokens, candidates)
        return float(wrong)

    # -- parsing --------------------------------------------------------------------------------

    def predict(self, docs: Iterable[Doc]) -> list[tuple[Parse | None, str | None]]:
        """For each doc its best parse, and which of its candidates is meant."""
        self.require_model()
        found: list[tuple[Parse | None, str | None]] = []
        for doc in docs:
            tokens = [token.text for token in words_of(doc)]
            parses = self.model.parse(tokens) if tokens else []
            candidates = doc._.mr_candidates if tokens else None
            match = self.model.match(tokens, candidates) if candidates else None
            found.append((parses[0] if parses else None, None if match is None else str(match)))
        return found

    def set_annotations(self, docs: Iterable[Doc], scores: list[tuple[Parse | None, str | None]]) -> None:
        for doc, (parse, match) in zip(docs, scores, strict=True):
            doc._.mr_match = match
            doc._.mr = None if parse is None else str(parse.mr)
            doc._.mr_score = None if parse is None else float(parse.score)
            doc._.mr_margin = None if parse is None else float(parse.margin)
            spans = []
            for token, symbol in zip(
                words_of(doc), () if parse is None else parse.symbols, strict=parse is not None
            ):
                if symbol != "-":
                    token._.symbol = symbol
                    spans.append(Span(doc, token.i, token.i + 1, label=symbol))
            doc.spans[SPANS] = spans


def words_of(doc: Doc) -> list[Token]:
    """The tokens that may mean something."""
    return [token for token in doc if not (token.is_space or token.is_punct)]


def score_meanings(examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
    """mr_acc and match_acc: the shares of right meanings among references with _.mr."""
    pairs = [(eg.predicted._, eg.reference._) for eg in examples if eg.reference._.mr is not None]
    matched = [(found, gold) for found, gold in pairs if found.mr_candidates]
    return {
        "mr_acc": sum(found.mr == gold.mr for found, gold in pairs) / len(pairs) if pairs else None,
        "match_acc": sum(f.mr_match == gold.mr for f, gold in matched) / len(matched) if matched else None,
    }


@registry.scorers("structsvm.mr_scorer.v1")
def make_mr_scorer() -> Callable[..., dict[str, Any]]:
    return score_meanings


make_ospas = factory(
    "ospas", OspasPipe, scorer="structsvm.mr_scorer.v1", score_weights={"mr_acc": 1.0, "match_acc": None},
    assigns=[*(f"doc._.{name}" for name in EXTENSIONS[:-1]), "doc.spans", "token._.symbol"],
)  # fmt: skip
