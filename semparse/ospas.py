"""Ospas: a semantic parser that learns from sentences with several candidate meanings."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from semparse import options
from semparse.entities.names import Words
from semparse.entities.tokens import Tokens
from semparse.evidence import Candidates
from semparse.examples import Sentence, as_tokens, checked_bag, checked_examples, checked_tokens
from semparse.frames import closed_schema, filled_bags
from semparse.latent import switches
from semparse.latent.doubts import doubts
from semparse.latent.parser import LatentParser
from semparse.meaning import MR, as_mr, is_open
from semparse.options import ParserOptions
from semparse.outcomes import BUDGET, Executor, Propose, bags_of
from semparse.parse import Match, Parse
from semparse.schema import Schema
from semparse.thesis import ThesisParser
from structsvm.files import consistent, load_model, save_model
from structsvm.files.codec import Field, Kind, Table, mapped
from structsvm.guard import reading, reads, training
from structsvm.integrations.sklearn import Estimator, sequence_tags
from structsvm.options import with_options
from structsvm.validation import MOST_BEST, check_count, check_seed

KIND = Kind(  # format 1 had no chart
    "ospas", "semantic parser", "use one written by `structsvm parse train` or Ospas.save", "format", (2,)
)
FIELDS = Table(
    Field("parameters", mapped(), "the options of the parser"),
    Field("schema", mapped(), "the relations and arguments seen"),
    Field("rng", mapped(), "the state of the random numbers"),
    Field("model", mapped(), "the metadata of the latent parser or that of the thesis"),
)


@with_options
class Ospas(ParserOptions, Estimator):
    """A semantic parser that learns from sentences with candidate meanings, at most one of which is right.

    A sentence is a text or a list of words. A candidate is an `MR`, its text, such as
    "pass(purple10, purple8)", or its JSON object. Candidates may repeat, and all of them may be wrong.
    """

    # -- training -------------------------------------------------------------------------------

    def fit(
        self,
        sentences: Sequence[Sentence],
        candidates: Sequence[Sequence[Any]] | Propose | None = None,
        *,
        weights: Sequence[Sequence[float] | None] | None = None,
        wrong: Sequence[Sequence[Any] | None] | None = None,
        outcomes: Sequence[Any] | None = None,
        execute: Executor | None = None,
        contexts: Sequence[Any] | None = None,
        budget: int = BUDGET,
        progress: Callable[[int, int], Any] | None = None,
    ) -> Self:
        """Train from scratch; `progress` is called with the number of sentences done and the total.

        weights: for each sentence a number per candidate, such as the score of another parser, or None. Only
        their ratios count. wrong: for each sentence a list of meanings that it does not have, or None; it may
        have no candidates then.

        With `outcomes` and `execute`, learn from what happened: only candidates count whose execution, in
        the context of the sentence, gives its outcome. `candidates` may then be a function of a text and its
        context, or None: they are enumerated from the schema. At most `budget` are executed per sentence.
        See `semparse.outcomes`.
        """
        with training(self):
            if execute is not None and outcomes is not None:
                candidates = self._with_outcomes(sentences, candidates, outcomes, execute, contexts, budget)
            elif execute is not None or outcomes is not None or contexts is not None:
                raise ValueError("outcomes and execute must be given together, and contexts only with them")
            if candidates is None or callable(candidates):
                raise ValueError("candidates must be lists of meanings, unless there are outcomes")
            if execute is not None and weights is not None:
                raise ValueError("weights cannot be combined with outcomes; leave one of them out")
            X, bags = checked_examples(sentences, candidates, self._given_schema(), weights, wrong)
            alone = all(len(bag) <= 1 for bag in bags)
            bags, opened = self._filled(X, bags)
            if self.empty_bags == "skip":
                kept = [(x, bag) for x, bag in zip(X, bags, strict=True) if bag or bag.wrong]
                X, bags = [x for x, _ in kept], [bag for _, bag in kept]
            options.check_training(self, online=False)
            self._check_evidence(bags)
            model, rng = self._new_model()
            one_means = execute is not None or (alone and opened)  # one candidate has the outcome
            if one_means and isinstance(model, LatentParser):
                model.given_clauses = self.clauses or 1
                if self.nothing is None:
                    model.given_nothing = model.nothing = 0.0
            nested = any(isinstance(arg, MR) for bag in bags for mr in bag for arg in mr.args)
            usual = options.NESTED_PASSES if nested and self.algorithm == "latent" else self._usual("passes")
            passes = self.passes or usual
            model.fit(X, bags, passes, rng, progress or (lambda done, total: None))
            if self.threshold is None and isinstance(model, LatentParser):
                self._estimate_threshold(model, X, bags, passes)
            self._adopt(model, rng)
        return self

    def _filled(
        self, X: list[Tokens], bags: list[Candidates], known: LatentParser | ThesisParser | None = None
    ) -> tuple[list[Candidates], bool]:
        """The bags with their open frames filled, and whether there are any."""
        if not any(is_open(mr) for bag in bags for mr in (*bag, *bag.wrong)):
            return bags, False
        schema = self._given_schema() or (closed_schema(bags) if known is None else known.schema)
        return filled_bags(X, bags, Words(Counter(word for x in X for word in x), schema), schema), True

    def _check_evidence(self, bags: Sequence[Candidates]) -> None:
        if self.algorithm == "paper" and any(bag.logs or bag.wrong for bag in bags):
            raise ValueError('algorithm="paper" has no weights and no wrong meanings; use "latent"')

    def _with_outcomes(
        self, sentences: Sequence[Sentence], candidates: Any, outcomes: Sequence[Any], execute: Executor,
        contexts: Sequence[Any] | None, budget: int,
    ) -> list[list[MR]]:  # fmt: skip
        check_count(budget=budget)
        lists = {"outcomes": outcomes, "contexts": contexts}
        if candidates is not None and not callable(candidates):
            lists["candidates"] = candidates
        for name, its in lists.items():
            if its is not None and len(its) != len(sentences):
                raise ValueError(f"{len(sentences)} sentences but {len(its)} {name}")
        return bags_of(
            [as_tokens(sentence) for sentence in sentences], outcomes, execute,
            contexts=[None] * len(sentences) if contexts is None else contexts, propose=candidates,
            schema=self._given_schema(), budget=budget,
        )  # fmt: skip

    def _estimate_threshold(
        self, model: LatentParser, X: list[Tokens], bags: list[Candidates], passes: int
    ) -> None:
        """Let a parser that has learned from the first sentences answer the others."""
        at = switches.first_held(len(X))
        if model.trusted or len(X) < switches.LEAST or not any(bags[:at]):
            return
        held, rng = self._new_model()
        assert isinstance(held, LatentParser)
        held.given_clauses, held.given_nothing = model.clauses, model.nothing
        held.nothing = model.nothing
        held.fit(X[:at], bags[:at], passes, rng, lambda done, total: None)
        model.threshold = switches.best_threshold(
            lambda x: [(parse.lead, parse.mr) for parse in held.parse(x, 1)], X[at:], bags[at:]
        )

    @property
    @reads
    def estimates_(self) -> dict[str, float]:
        """The values of options that training estimated from the sentences, by name."""
        model = self._fitted()
        if not isinstance(model, LatentParser):
            return {}
        found = {"clauses": model.clauses, "nothing": model.nothing, "threshold": model.threshold}
        return {name: value for name, value in found.items() if getattr(self, name) is None}

    @property
    @reads
    def opened_(self) -> list[str]:
        """The types of a learned schema that training opened to new names, named after two constants."""
        model = self._fitted()
        kinds = [] if model.given else model.schema.named().open.items()
        return [kind for kind, value in kinds if value is True]

    @property
    @reads
    def doubts_(self) -> list[str]:
        """Doubts about the sentences that this object has learned: a sentence for each kind of fault."""
        model = self._fitted()
        return list(doubts(model)) if isinstance(model, LatentParser) and model.memory else []

    def _given_schema(self) -> Schema | None:
        given = self.schema
        return given if given is None or isinstance(given, Schema) else Schema.from_json(given)

    def partial_fit(
        self,
        sentence: Sentence,
        candidates: Sequence[Any] = (),
        *,
        weights: Sequence[float] | None = None,
        wrong: Sequence[Any] | None = None,
    ) -> Self:
        """Learn from one more sentence: its candidates, their weights, and meanings that it does not have."""
        with training(self):
            options.check_training(self, online=True)
            fresh = not hasattr(self, "model_")
            model, rng = self._new_model() if fresh else (self.model_, self._rng)
            x = checked_tokens(sentence, "the sentence")
            bag = checked_bag(candidates, "the sentence", model.given, weights, wrong)
            (bag,), _ = self._filled([x], [bag], None if fresh else model)
            self._check_evidence([bag])
            if bag or bag.wrong or self.empty_bags == "nothing":
                model.learn(x, bag, rng)
            if fresh:
                self._adopt(model, rng)
        return self

    def _new_model(self) -> tuple[LatentParser | ThesisParser, np.random.Generator]:
        options.check_types(self)
        seed = check_seed(self.random_state)
        model: LatentParser | ThesisParser
        C = self._usual("C") if self.C is None else self.C
        if self.algorithm == "latent":
            model = LatentParser(
                C=C, iterations=self.iterations, reprocess=self.reprocess, solver=self.solver,
                features=self.features, on_topic=self.on_topic, prior=self.prior, average=self.average,
                unnamed=self.unnamed, clauses=self.clauses, nothing=self.nothing,
            )  # fmt: skip
        else:
            model = ThesisParser(
                C=C, seed=seed, strategy=self.strategy, empties=self.empties, average=self.average
            )
        model.given = self._given_schema()
        return model, np.random.default_rng(seed)

    def _usual(self, name: str) -> Any:
        return self.OPTIONS[name].value(self.algorithm)

    def _adopt(self, model: LatentParser | ThesisParser, rng: np.random.Generator) -> None:
        self.model_: LatentParser | ThesisParser = model
        self._rng = rng
        self._trained_with = self.get_params()

    # -- what it knows --------------------------------------------------------------------------

    @property
    @reads
    def schema_(self) -> Schema:
        """The relations, arities and types: as given, or as learned from the candidates."""
        return self._fitted().schema

    def _fitted(self) -> LatentParser | ThesisParser:
        if not hasattr(self, "model_"):
            raise self.not_fitted()
        return self.model_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        return sequence_tags()

    @reads
    def predict(self, sentences: Sequence[Sentence]) -> np.ndarray:
        """The text of the best meaning of each sentence, or None if there is no meaning."""
        parses = [self.parse(sentence) for sentence in sentences]
        return np.array([str(found[0].mr) if found else None for found in parses], object)

    @reads
    def score(self, sentences: Sequence[Sentence], candidates: Sequence[Sequence[Any]]) -> float:
        """The share of sentences whose best meaning is among their candidates (or right meanings)."""
        pairs = list(zip(self.predict(sentences), candidates, strict=True))
        return sum(found in {str(as_mr(mr)) for mr in bag} for found, bag in pairs) / max(len(pairs), 1)

    @reads
    def parse(
        self, sentence: Sentence, n: int = 1, *, valid: Callable[[MR], Any] | None = None
    ) -> list[Parse]:
        """The n best meanings of a sentence, best first; empty if the best one is below the threshold.

        valid: a function of a meaning; meanings for which it is false are left out, and at least ten are
        tried. `semparse.outcomes.is_possible` filters those that can be executed.

        A sentence without words has no meaning.
        With "paper", all meanings in the labelling, because one labelling may contain several.
        """
        check_count(n=n, low=1, high=MOST_BEST)
        tokens = as_tokens(sentence)
        parses = self._fitted().parse(tokens, n, valid) if tokens else []
        least = self._fitted().threshold if self.threshold is None else self.threshold
        return parses if parses and parses[0].lead >= least else []

    def match(self, sentence: Sentence, candidates: Sequence[Any]) -> MR | None:
        """The candidate that a sentence means, or None if the best meaning of all is not a candidate."""
        with reading(self):
            model = self._fitted()
            bag = checked_bag(candidates, "the sentence", None)
            unknown = [s for mr in bag for s in mr.symbols() if not model.knows(s)]
            if unknown:
                message = f"{unknown[0]!r} was in no candidate so far, so it cannot be matched"
                warnings.warn(message, stacklevel=2)
            tokens = as_tokens(sentence)
            return self._salient(model.match(tokens, bag)) if tokens and bag else None

    def match_apart(
        self, sentences: Sequence[Sentence], candidates: Sequence[Sequence[Any]], *, parts: int = 5
    ) -> list[MR | None]:
        """Match sentences that are also the only training data; return a candidate or None for each.

        The sentences are split into parts. Each part is matched by a new parser with the same options,
        trained on the other parts. This parser does not change.
        """
        return [self._salient(found) for found in self.matches_apart(sentences, candidates, parts=parts)]

    def matches_apart(
        self, sentences: Sequence[Sentence], candidates: Sequence[Sequence[Any]], *, parts: int = 5
    ) -> list[Match | None]:
        """The same with saliences, also those below that of this parser."""
        check_count(parts=parts, low=2)
        X, bags = checked_examples(sentences, candidates, self._given_schema())
        if len(X) < parts:
            raise ValueError(f"{len(X)} sentences cannot be split into {parts} parts")

        part_of = np.random.default_rng(check_seed(self.random_state)).permutation(len(X)) % parts
        found: list[Match | None] = [None] * len(X)
        for part in range(parts):
            inside, outside = np.flatnonzero(part_of != part), np.flatnonzero(part_of == part)
            parser = type(self)(**self.get_params()).fit([X[i] for i in inside], [bags[i] for i in inside])
            for i in outside:
                found[i] = parser.model_.match(X[i], bags[i])
        return found

    def with_options(self, *, threshold: float | None = None, salience: float | None = None) -> Self:
        """A parser with this model and different options for selecting answers."""
        given = {"threshold": threshold, "salience": salience}
        chosen = {name: value for name, value in given.items() if value is not None}
        parameters = self._trained_with | {"threshold": self.threshold, "salience": self.salience}
        parser = type(self)(**(parameters | chosen))
        options.check_types(parser)
        for name, value in chosen.items():
            self.OPTIONS[name].check(value)
        parser._adopt(self._fitted(), self._rng)
        return parser

    def _salient(self, found: Match | None) -> MR | None:
        return found.mr if found is not None and found.salience >= self.salience else None

    @reads
    def align(self, sentence: Sentence, candidate: Any) -> Parse | None:
        """Align a meaning with the words of a sentence; None if that is impossible."""
        tokens, mr = as_tokens(sentence), as_mr(candidate)
        return self._fitted().align(tokens, mr) if tokens else None

    @reads
    def explain(self, sentence: Sentence, candidate: Any = None) -> list[tuple[str, str, float]]:
        """Explain the score of the best or a given meaning: (label, feature, weight), largest first."""
        given = None if candidate is None else as_mr(candidate)
        tokens = as_tokens(sentence)
        return self._fitted().explain(tokens, given) if tokens else []

    @reads
    def lexicon(self, least: float = 0.0) -> dict[str, dict[str, float]]:
        """For each word or name, the symbols that it may stand for, best first, with their shares or weights.

        "-" has the share of standing for nothing. Values below `least` are left out.
        """
        return self._fitted().lexicon(least)

    # -- files ----------------------------------------------------------------------------------

    @reads
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, all of it or nothing; the file holds no sentences."""
        model = self._fitted()
        # Options set since training do not describe the model; those that only select answers do.
        parameters = self._trained_with | {"threshold": self.threshold, "salience": self.salience}
        if isinstance(parameters["schema"], Schema):
            parameters["schema"] = parameters["schema"].to_json()
        if not isinstance(parameters["random_state"], (int, np.integer, type(None))):
            parameters["random_state"] = None
        arrays, meta = model.state()
        values = {"schema": model.schemas.to_json(), "rng": self._rng.bit_generator.state, "model": meta}
        _, meta = FIELDS.write({"parameters": parameters, **values})
        save_model(path, arrays, {"kind": KIND.name, KIND.key: KIND.versions[-1], **meta})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file; raise ModelFileError if it is not a semantic parser or is inconsistent."""
        arrays, meta = load_model(path)
        KIND.check(path, meta)
        with consistent(path, "parser"):
            found = FIELDS.read(arrays, meta)
            parameters = dict(found["parameters"])
            parameters["features"] = tuple(parameters["features"])  # a list in JSON
            parser = cls(**parameters)
            model, rng = parser._new_model()
            model.schemas.set_json(found["schema"], model.given)
            rng.bit_generator.state = found["rng"]
            model.set_state(arrays, found["model"])
        parser._adopt(model, rng)
        return parser
