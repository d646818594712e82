"""Training of the latent parser, from bags of which at most one candidate is right.

EM aligns words with symbols. Then a solver visits the sentences. The best candidate of the bag, by its score
and by the posterior of EM, should score higher by a margin of 1 than any other MR that the schema allows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from semparse.evidence import Candidates
from semparse.latent import solvers
from semparse.latent.bags import (
    Wrong,
    aligned,
    alternatives,
    find_naming,
    find_open,
    find_paraphrases,
    find_silent,
    find_styles,
    find_units,
    forms_of,
    posteriors_of,
    refused,
    symbols_of,
    with_clauses,
)
from semparse.latent.features import View
from semparse.latent.model import LatentModel
from semparse.latent.switches import LEAST, RARE_NOTHING, best_nothing, passes_over
from semparse.meaning import MR
from semparse.options import USUAL_NOTHING


def fit(
    model: LatentModel,
    X: Sequence[list[str]],
    given: Sequence[list[MR]],
    passes: int,
    rng: np.random.Generator,
    progress: Callable[[int, int], Any],
) -> None:
    """EM, then passes over the sentences in random order."""
    told = [(x, as_candidates(bag)) for x, bag in zip(X, given, strict=True)]
    for x, its in told:
        model.meet(x, its)
    kept = [pair for pair in told if not pair[1].only_wrong]
    X, bags = [x for x, _ in kept], [its for _, its in kept]
    find_open(model, X, bags)
    find_styles(model, X, bags)
    find_units(model, X, bags)
    read = [model.words.read(x) for x in X]
    find_paraphrases(model, read, bags)
    find_naming(model, read, bags)
    forms = [forms_of(model, words, bag) for words, bag in zip(read, bags, strict=True)]
    model.trusted = model.given_nothing == 0 or all(len(bag) <= 1 for bag in bags)
    single = [alternatives(bag, 1, trusted=model.trusted) for bag in bags]
    symbols = [[flat[0] for flat in symbols_of(model, *pair)] for pair in zip(read, single, strict=True)]
    estimated = model.given_nothing is None and not model.trusted
    if estimated:
        model.nothing = best_nothing(forms, symbols, model.iterations, USUAL_NOTHING)
    logs = [bag.log_weights(meanings) for bag, meanings in zip(bags, single, strict=True)]
    posteriors, outside = model.alignment.fit(forms, symbols, model.iterations, model.nothing, logs)
    if estimated and len(X) >= LEAST and passes_over(forms, symbols, model.alignment.share):
        model.nothing = RARE_NOTHING
        posteriors, outside = model.alignment.fit(forms, symbols, model.iterations, model.nothing, logs)
    find_silent(model, read, single, posteriors)
    meanings, posteriors = with_clauses(model, read, bags, single, posteriors, outside)
    model.grammar.add_rows()
    views = [model.viewer.view(x, grow=True) for x in X]
    bad = [(model.viewer.view(x, grow=True), its) for x, its in told if its.only_wrong]
    model.fit_sizes()
    data: list[Any] = [
        (view, aligned(model, several), chances)
        for view, several, chances in zip(views, meanings, posteriors, strict=True)
    ]
    data += [(view, refused(model, its), np.empty(0)) for view, its in bad]
    solve = solvers.larank if model.solver == "larank" else solvers.passive_aggressive
    solve(model, data, passes, rng, progress)
    model.salience.clear()
    for view, several, _ in data:
        if not isinstance(several, Wrong):
            count(model, view, several)
    model.memory = told


def learn(model: LatentModel, x: list[str], bag: list[MR], rng: np.random.Generator) -> None:
    """Learn from one more sentence, then from some of the old ones again."""
    bag = as_candidates(bag)
    model.meet_more(x, bag)
    if not bag.only_wrong:
        words = model.words.read(x)
        alone = model.trusted or len(bag) == 1  # one candidate in `partial_fit` is an answer
        meanings = alternatives(bag, 1, trusted=alone)
        single = [flat[0] for flat in symbols_of(model, words, meanings)]
        model.alignment.see(forms_of(model, words, bag), single, bag.log_weights(meanings))
    again = rng.integers(len(model.memory), size=min(model.reprocess, len(model.memory)))
    model.grammar.add_rows()
    for tokens, candidates in [(x, bag), *[model.memory[i] for i in again]]:
        view = model.viewer.view(tokens, grow=True)
        model.fit_sizes()
        if candidates.only_wrong:
            solvers.step(model, view, refused(model, candidates), np.empty(0), trusting=True)
            continue
        alone = model.trusted or len(candidates) == 1
        several = alternatives(candidates, model.clauses, trusted=alone)
        posteriors = posteriors_of(model, view.words, candidates, several)
        solvers.step(model, view, aligned(model, several), posteriors, trusting=True)
        if tokens is x:
            count(model, view, aligned(model, several))
    model.memory.append((x, bag))


def as_candidates(bag: Sequence[MR]) -> Candidates:
    return bag if isinstance(bag, Candidates) else Candidates(bag)


def count(model: LatentModel, view: View, several: list[Any]) -> None:
    """Count the relations that the words can say, and the one that they mean."""
    search = model.search_with(view, {name: t.w for name, t in model.tables.all.items()})
    best, *_ = search.best()
    sayable = [found for units in several if units is not None and (found := search.align(units))]
    meant = [found for found in sayable if found.meaning == best.meaning]
    rels = {found: [mr.rel for mr in search.mrs(found)] for found in sayable}
    model.salience.see(
        (rel for its in rels.values() for rel in its),
        rels[meant[0]][0] if meant and rels[meant[0]] else None,
    )
