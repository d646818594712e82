"""Concept labelling: the network against a naive twin, what it learns, and what it refuses."""

from itertools import islice, pairwise

import numpy as np
import pytest

from corpora.simulators.house import House
from semparse import ConceptLabeller
from semparse.concepts.alignment import align
from structsvm.files.persist import ModelFileError

BOTH = ("location", "containedby")


def scenes(n, seed=0):
    found = list(islice(House(pronouns=0.64, seed=seed).scenes(), n))
    worlds = [{"location": s.universe.location, "containedby": s.universe.contained_by} for s in found]
    return [list(s.tokens) for s in found], worlds, [list(s.symbols) for s in found]


class Twin:
    """The score of a labelling as the thesis writes it, in float64 and without any caching."""

    def __init__(self, labeller, sentence, world, parameters=None):
        self.labeller = labeller
        p = parameters or {name: value.astype(float) for name, value in labeller.arrays_.items()}
        self.p = p
        self.x, self.world = sentence, world
        self.names = list(labeller.concepts_)
        self.reach = labeller.window // 2

    def vector(self, concept):
        ids, none = self.labeller.concepts_, len(self.names)
        related = [ids.get(self.world[r].get(concept), none) for r in self.labeller.relations]
        return np.concatenate([self.p["concepts"][k] for k in (ids[concept], *related)])

    def score(self, y):
        """y: a concept or None for each word."""
        total = 0.0
        for i, concept in enumerate(y):
            if concept is None:
                continue
            g = self.p["b_g"].copy()
            for offset in range(-self.reach, self.reach + 1):
                j = i + offset
                inside = 0 <= j < len(self.x)
                word = self.labeller.words_.get(self.x[j], 1) if inside else 0
                g += self.p["words"][word] @ self.p["W"][offset + self.reach]
                if inside and j != i and y[j] is not None and self.labeller.order != "independent":
                    g += self.vector(y[j]) @ self.p["V"][offset + self.reach]
            total += g @ (self.p["b_h"] + self.vector(concept) @ self.p["H"])
        return total

    def steps(self):
        """The states of greedy inference: labelling before, chosen word and concept, all scores."""
        y = [None] * len(self.x)
        while None in y:
            open_words = [j for j, concept in enumerate(y) if concept is None]
            if self.labeller.order != "order-free":
                open_words = open_words[:1]
            scores = {}
            for j in open_words:
                for concept in self.names:
                    scores[j, concept] = self.score([*y[:j], concept, *y[j + 1 :]])
            j, concept = max(scores, key=scores.get)
            yield list(y), j, concept, scores
            y[j] = concept


def small(order, relations, epochs=1, **options):
    x, u, y = scenes(12, seed=1)
    labeller = ConceptLabeller(
        order=order, relations=relations, dimension=3, hidden=4, window=5, epochs=epochs, **options
    )
    return labeller.fit(x, u, y), x, u, y


@pytest.mark.parametrize("order", ["order-free", "left-right", "independent"])
@pytest.mark.parametrize("relations", [(), ("location",), BOTH])
def test_inference_is_the_greedy_search_of_the_thesis(order, relations):
    labeller, x, u, _ = small(order, relations)
    predicted = labeller.predict(x[:4], u[:4])
    for sentence, world, answer in zip(x, u, predicted, strict=False):
        found = [None] * len(sentence)
        for _, j, concept, _ in Twin(labeller, sentence, world).steps():
            found[j] = concept
        assert found == answer


@pytest.mark.parametrize("order", ["order-free", "left-right", "independent"])
@pytest.mark.parametrize("weak", [False, True])
def test_an_update_is_a_gradient_step_on_the_first_mistake(order, weak):
    """Against differences of the loss max(0, 1 + wrong - right), mean over the right continuations."""
    labeller, x, u, y = small(order, BOTH, epochs=3, aligned=0)
    before = {name: value.copy() for name, value in labeller.arrays_.items()}
    twin = Twin(labeller, x[0], u[0])
    bag = list(y[0])
    for step in twin.steps():
        state, j, concept, scores = step
        if not (concept in bag if weak else concept == y[0][j]):
            break
        bag.remove(concept)
    else:
        pytest.fail("no mistake to correct: train less")
    good = [key for key in scores if (key[1] in bag if weak else key[1] == y[0][key[0]])]
    good = [key for key in good if scores[key] < scores[j, concept] + 1]

    def loss(parameters):
        probe = Twin(labeller, x[0], u[0], parameters)
        put = lambda at, c: probe.score([*state[:at], c, *state[at + 1 :]])  # noqa: E731
        return np.mean([1 + put(j, concept) - put(*key) for key in good])

    rate = 0.01
    network_step(labeller, x[0], u[0], y[0], weak, rate)
    rng = np.random.default_rng(0)
    for name, value in before.items():
        moved = (labeller.arrays_[name].astype(float) - value) / rate
        direction = rng.normal(size=value.shape)
        parameters = {key: array.astype(float) for key, array in before.items()}
        eps = 1e-4
        parameters[name] = before[name] + eps * direction
        high = loss(parameters)
        parameters[name] = before[name] - eps * direction
        slope = (high - loss(parameters)) / (2 * eps)
        assert (moved * direction).sum() == pytest.approx(-slope, rel=2e-2, abs=2e-3), name


def network_step(labeller, sentence, world, labels, weak, rate):
    from semparse.concepts._concepts import Network

    data = labeller._encoded([sentence], [world], labeller.words_, labeller.concepts_)
    truth = np.array([labeller.concepts_[c] for c in labels], np.int32)
    network = Network(labeller.arrays_, len(sentence), labeller.order)
    assert network.train(*data, truth, np.zeros(1, np.int64), weak, rate) == 0


@pytest.fixture(scope="module")
def errors():
    x, u, y = scenes(2500, seed=2)

    def error(weak=False, **options):
        labels = [sorted(labels) for labels in y] if weak else y
        labeller = ConceptLabeller(hidden=100, epochs=4, **options)
        labeller.fit(x[:2000], u[:2000], labels[:2000], weak=weak)
        predicted = labeller.predict(x[2000:], u[2000:])
        return np.mean([p != right for p, right in zip(predicted, y[2000:], strict=True)])

    return error


def test_world_knowledge_resolves_what_words_alone_cannot(errors):
    informed, words_only = errors(relations=BOTH), errors(relations=())
    assert informed < 0.15
    assert words_only > 0.3


def test_bags_are_nearly_as_good_as_aligned_labels(errors):
    assert errors(weak=True, relations=BOTH) < 0.2


def test_aligned_passes_are_chosen_by_training_mistakes():
    x, u, y = scenes(300, seed=3)
    bags = [sorted(labels) for labels in y]

    def fitted(**options):
        labeller = ConceptLabeller(hidden=20, dimension=5, epochs=6, **options)
        return labeller.fit(x, u, bags, weak=True)

    tried = {aligned: fitted(aligned=aligned) for aligned in (2, 4, 6)}
    chosen, fewest = fitted(), min(labeller.errors_[-1] for labeller in tried.values())
    assert len({labeller.errors_[-1] for labeller in tried.values()}) > 1
    assert chosen.errors_[-1] == fewest
    assert chosen.errors_ == tried[chosen.aligned_].errors_
    assert chosen.predict(x, u) == tried[chosen.aligned_].predict(x, u)


def test_bags_of_the_house_are_aligned_by_what_occurs_together():
    x, _, y = scenes(1500, seed=5)
    words = {word: k for k, word in enumerate(sorted({w for sentence in x for w in sentence}))}
    labels = {label: k for k, label in enumerate(sorted({c for concepts in y for c in concepts}))}
    starts = np.cumsum([0, *map(len, x)])
    flat = np.array([words[w] for sentence in x for w in sentence])
    bags = np.array([labels[c] for concepts in y for c in sorted(concepts)])
    truth = np.array([labels[c] for concepts in y for c in concepts])
    found = align(flat, bags, starts, (len(words), len(labels)))
    wrong = np.add.reduceat(found != truth, starts[:-1]) > 0
    assert wrong.mean() < 0.02
    for start, end in pairwise(starts):
        assert sorted(found[start:end]) == sorted(bags[start:end])


def test_a_seed_repeats_bit_for_bit_and_predicting_changes_nothing():
    one, x, u, _ = small("order-free", BOTH, random_state=3)
    other, *_ = small("order-free", BOTH, random_state=3)
    kept = {name: value.copy() for name, value in one.arrays_.items()}
    one.predict(x, u)
    for name, value in kept.items():
        assert np.array_equal(one.arrays_[name], value)
        assert np.array_equal(other.arrays_[name], value)


def test_unknown_words_and_empty_worlds_are_labelled():
    labeller, *_ = small("order-free", BOTH)
    (answer,) = labeller.predict([["the", "unicorn", "gallops"]], [{}])
    assert len(answer) == 3
    assert set(answer) <= set(labeller.concepts_)
    assert labeller.predict([], []) == []


def test_neighbours_are_the_nearest_other_concepts():
    labeller, *_ = small("order-free", BOTH)
    concept = next(iter(labeller.concepts_))
    found = labeller.neighbours(concept, 3)
    assert len(found) == 3
    assert concept not in found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sentences": [["a"]]}, "1 sentences, 2 worlds"),
        ({"labels": [["-"], ["-", "-"]]}, "sentence 1 has 1 words and 2 labels"),
        ({"sentences": [["a"], []], "labels": [["-"], []]}, "sentence 1 has 0 words"),
    ],
)
def test_data_that_do_not_fit_are_refused(change, message):
    data = {"sentences": [["a"], ["b"]], "worlds": [{}, {}], "labels": [["-"], ["x"]], **change}
    with pytest.raises(ValueError, match=message):
        ConceptLabeller().fit(data["sentences"], data["worlds"], data["labels"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": "upwards"}, "order"),
        ({"window": 4}, "odd"),
        ({"hidden": 0}, "hidden"),
        ({"rate": -1.0}, "rate"),
        ({"rate": 1e9}, "too high"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message), np.errstate(all="ignore"):
        ConceptLabeller(**options).fit(*scenes(30))


def test_a_saved_labeller_answers_the_same_and_a_damaged_one_is_refused(tmp_path):
    labeller, x, u, _ = small("order-free", BOTH)
    labeller.save(tmp_path / "one.ssvm")
    again = ConceptLabeller.load(tmp_path / "one.ssvm")
    assert again.predict(x, u) == labeller.predict(x, u)
    assert again.get_params() == {**labeller.get_params(), "relations": list(BOTH)}
    again.save(tmp_path / "two.ssvm")
    assert (tmp_path / "one.ssvm").read_bytes() == (tmp_path / "two.ssvm").read_bytes()
    labeller.concepts_ = dict(list(labeller.concepts_.items())[:-1])
    labeller.save(tmp_path / "bad.ssvm")
    with pytest.raises(ModelFileError, match="consistent labeller"):
        ConceptLabeller.load(tmp_path / "bad.ssvm")


def test_a_labeller_that_has_learned_nothing_says_so():
    with pytest.raises(Exception, match="not fitted"):
        ConceptLabeller().predict([["a"]], [{}])
    with pytest.raises(ValueError, match="no sentences"):
        ConceptLabeller().fit([], [], [])
