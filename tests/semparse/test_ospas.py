import pickle
import re

import numpy as np
import pytest

from semparse import MR, MeaningError, Ospas, Schema, SchemaError, parse_mr, thesis
from semparse.latent import features as latent_features
from semparse.latent import model as latent_model
from semparse.options import FEATURES
from structsvm.files.codec import REQUIRED
from structsvm.files.persist import ModelFileError, load_model, save_model
from tests.semparse.commentary import commentary

ALGORITHMS = ("latent", "paper")
DATA = commentary(200)


@pytest.fixture(scope="module", params=ALGORITHMS)
def parser(request):
    return Ospas(algorithm=request.param).fit(*DATA[:2])


def share_right(parser, seed=9):
    sentences, _, gold = commentary(100, seed=seed)
    best = [[parse.mr for parse in parser.parse(sentence)][:1] for sentence in sentences]
    return np.mean([found == [parse_mr(mr)] for found, mr in zip(best, gold, strict=True)])


def test_the_default_learns_a_small_world_though_bags_are_ambiguous_and_noisy():
    assert share_right(Ospas().fit(*DATA[:2])) == 1.0


def test_larank_on_the_bags_learns_it_too():
    assert share_right(Ospas(solver="larank").fit(*DATA[:2])) == 1.0


@pytest.mark.parametrize("features", [(), ("order",), FEATURES])
def test_features_can_be_chosen(features):
    parser = Ospas(features=features).fit(*DATA[:2])
    assert parser.model_.viewer.features == frozenset(features)
    assert share_right(parser) == 1.0  # in this world, the order of the arguments is enough


@pytest.mark.parametrize("strategy", ["random", "left-right", "order-free"])
def test_the_papers_algorithm_learns_most_of_it(strategy):
    assert share_right(Ospas(algorithm="paper", strategy=strategy, empties="total").fit(*DATA[:2])) > 0.5


@pytest.mark.parametrize(("algorithm", "least"), [("latent", 0.9), ("paper", 0.4)])
def test_one_sentence_after_the_other_is_enough(algorithm, least):
    parser = Ospas(algorithm=algorithm)
    for sentence, bag in zip(*DATA[:2], strict=True):
        parser.partial_fit(sentence, bag)
    assert share_right(parser) > least


def test_new_words_and_symbols_may_come_later():
    parser = Ospas().fit(*DATA[:2])
    for _ in range(3):
        parser.partial_fit("gus passes to anna", ["pass(gus, anna)"])
        parser.partial_fit("gus shoots", ["shot(gus)"])
        parser.partial_fit("gus sleeps", ["rest(gus)"])
    assert str(parser.parse("bob passes to gus")[0]) == "pass(bob, gus)"
    assert parser.schema_.valid(parse_mr("rest(gus)"))


def test_a_parse_says_which_words_it_came_from():
    parse = Ospas().fit(*DATA[:2]).parse("Anna passes to Bob.")[0]
    assert parse.mr == MR("pass", ("anna", "bob"))
    assert parse.tokens == ("anna", "passes", "to", "bob")
    assert (parse.symbols[0], parse.symbols[3]) == ("anna", "bob")
    assert parse.words("bob") == ["bob"]
    assert set(parse.roles[0]) - {"-"} == {"A0", "A1", "REL"}
    assert parse.margin > 0


def test_n_best_are_distinct_and_in_order():
    parses = Ospas().fit(*DATA[:2]).parse("anna passes to bob", n=4)
    assert len({parse.mr for parse in parses}) == 4
    assert [p.score for p in parses] == sorted((p.score for p in parses), reverse=True)


def test_nested_meanings_are_learned():
    rng = np.random.default_rng(0)
    who, what, verbs = ("anna", "bob", "carl"), ("box", "cup", "toy"), {"broke": "break", "found": "find"}
    sentences, bags = [], []
    for _ in range(80):
        a, b, o, v = rng.choice(who), rng.choice(who), rng.choice(what), rng.choice(list(verbs))
        inner = f"{verbs[v]}({b}, {o})"
        told = rng.random() < 0.5
        sentences.append(f"{a} says that {b} {v} the {o}" if told else f"{b} {v} the {o}")
        bags.append([f"say({a}, {inner})" if told else inner, f"find({a}, box)"])
    parser = Ospas().fit(sentences, bags)
    assert str(parser.parse("carl says that anna broke the cup")[0]) == "say(carl, break(anna, cup))"
    assert str(parser.parse("bob found the toy")[0]) == "find(bob, toy)"


def test_relations_that_no_word_names_can_be_learned():
    places, asked = ("rome", "oslo", "bonn", "lima"), {"big": "size", "old": "age", "rich": "wealth"}
    data = [(f"{w} {p}", f"ask({r}(city({p})))") for w, r in asked.items() for p in places] * 4
    train = [(text, mr) for text, mr in data if text != "rich bonn"]
    parser = Ospas().fit([text for text, _ in train], [[mr] for _, mr in train])
    assert [str(parse) for parse in parser.parse("rich bonn")] == ["ask(wealth(city(bonn)))"]


def test_constants_that_no_word_names_can_be_learned():
    rooms = ("attic", "cellar", "kitchen")
    data = [(f"heat the {room}", f"heat({room}, slow)") for room in rooms] * 5
    data += [("turn it down", "cool(hall, slow)")] * 5
    found = []
    for unnamed in (None, 0.5):
        parser = Ospas(unnamed=unnamed).fit([text for text, _ in data], [[mr] for _, mr in data])
        found.append([str(parse) for parse in parser.parse("turn it down")])
        assert parser.align("heat the attic", "heat(attic, fast)") is None
    assert found[1] == ["cool(hall, slow)"]


def test_meanings_nested_deep_are_learned_from_at_once():
    parser, sentence = Ospas(), "one two three four five six seven eight nine ten"
    for _ in range(3):
        parser.partial_fit(sentence, ["a(b(c(d(e(x)))))"])
    assert len(parser.schema_.relations) == 5
    parser.parse(sentence, n=5)


def test_relations_that_no_word_names_cost_little_where_words_and_meanings_do_not_fit():
    rng = np.random.default_rng(1)

    def meaning(depth):
        rel = int(rng.integers(12))
        nested = rng.random(1 + rel % 2) < 0.6 * (depth > 0)
        args = [meaning(depth - 1) if deep else f"k{rng.integers(12)}" for deep in nested]
        return f"r{rel}({', '.join(args)})"

    sentences = [" ".join(f"w{k}" for k in rng.integers(0, 40, 10)) for _ in range(8)]
    parser = Ospas().fit(sentences, [[meaning(3)] for _ in sentences])
    assert parser.model_.grammar.nested
    parser.parse(" ".join(f"w{k % 40}" for k in range(300)))  # the chart keeps to the most telling words


def test_a_relation_that_repeats_its_argument_is_learned():
    data = [(f"good save by {p}", [f"save({p}, {p})"]) for p in ("ann", "bob", "cid")] * 4
    data += [(f"{p} shoots", [f"shot({p})"]) for p in ("ann", "bob", "cid", "dan")] * 3
    parser = Ospas().fit([text for text, _ in data], [bag for _, bag in data])
    assert str(parser.parse("good save by dan")[0]) == "save(dan, dan)"


def test_match_picks_the_candidate_that_is_meant_or_none():
    parser = Ospas().fit(*DATA[:2])
    assert parser.match("anna passes to bob", ["shot(anna)", "pass(anna, bob)"]) == parse_mr(
        "pass(anna, bob)"
    )
    assert parser.match("anna passes to bob", ["pass(bob, anna)", "halt"]) is None


def test_background_is_not_matched():
    parser = Ospas().fit(*DATA[:2])
    bag = [DATA[2][0]]
    assert parser.match(DATA[0][0], bag) is not None
    assert parser.set_params(salience=2).match(DATA[0][0], bag) is None


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_sentences_matched_apart_are_not_learned_from(algorithm):
    sentences, bags = [*DATA[0], "xyzzy plugh"], [*DATA[1], ["halt"]]
    parser = Ospas(algorithm=algorithm, salience=0.0, random_state=1)
    picks = parser.match_apart(sentences, bags, parts=4)
    assert not hasattr(parser, "model_")
    assert picks == parser.match_apart(sentences, bags, parts=4)
    part = np.random.default_rng(1).permutation(len(sentences)) % 4
    inside = np.flatnonzero(part != part[-1])
    other = Ospas(**parser.get_params()).fit([sentences[i] for i in inside], [bags[i] for i in inside])
    for i in np.flatnonzero(part == part[-1]):
        assert picks[i] == other.match(sentences[i], bags[i])


def test_matching_apart_finds_what_is_meant_and_keeps_to_salience():
    sentences, bags, gold = DATA
    picks = Ospas().match_apart(sentences, bags)
    assert sum(str(pick) == right for pick, right in zip(picks, gold, strict=True)) > 0.8 * len(gold)
    strict = Ospas(salience=1).match_apart(sentences, bags)  # a relation that is always meant stays
    assert strict.count(None) > Ospas().match_apart(sentences, bags).count(None)
    with pytest.raises(ValueError, match="2 sentences cannot be split into 5 parts"):
        Ospas().match_apart(sentences[:2], bags[:2])
    with pytest.raises(ValueError, match="no sentence has candidates"):
        Ospas().match_apart(sentences[:2], [bags[0], []], parts=2)


def test_an_unsure_parser_abstains(parser):
    threshold = parser.threshold
    assert parser.parse("bob shoots")
    assert parser.set_params(threshold=1e6).parse("bob shoots") == []
    parser.set_params(threshold=threshold)


def test_the_lexicon_knows_names(parser):
    lexicon = parser.lexicon()
    assert next(iter(lexicon["dora"])) == "dora"


def test_explanations_name_labels_features_and_weights(parser):
    parts = parser.explain("anna shoots")
    assert parts
    assert all(isinstance(label, str) and isinstance(feature, str) for label, feature, _ in parts)
    assert [abs(w) for *_, w in parts] == sorted((abs(w) for *_, w in parts), reverse=True)


def test_the_weights_of_an_explanation_add_up_to_the_score():
    parser = Ospas(prior=0.5).fit(*DATA[:2])
    first, second = parser.parse("anna passes to bob", n=2)
    gap = sum(w for *_, w in parser.explain("anna passes to bob"))
    gap -= sum(w for *_, w in parser.explain("anna passes to bob", second.mr))
    assert first.score - second.score == pytest.approx(gap)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_seed_repeats_bit_for_bit_and_prediction_changes_nothing(algorithm, tmp_path):
    files = []
    for k in range(2):
        parser = Ospas(algorithm=algorithm, random_state=3).fit(*DATA[:2])
        if k:
            parser.parse("anna shoots")
            parser.match("anna shoots", ["shot(anna)"])
            parser.explain("who is this")
        parser.save(tmp_path / f"{k}.ssvm")
        files.append((tmp_path / f"{k}.ssvm").read_bytes())
    assert files[0] == files[1]


def test_a_saved_parser_answers_and_continues_as_before(parser, tmp_path):
    parser.save(tmp_path / "a.ssvm")
    loaded = Ospas.load(tmp_path / "a.ssvm")
    loaded.save(tmp_path / "b.ssvm")
    assert (tmp_path / "a.ssvm").read_bytes() == (tmp_path / "b.ssvm").read_bytes()
    assert loaded.get_params() == parser.get_params()
    for sentence in [*commentary(20, seed=4)[0], "someone unheard of"]:
        assert loaded.parse(sentence) == parser.parse(sentence)
    loaded.partial_fit("gus shoots", ["shot(gus)"])
    assert loaded.schema_.valid(parse_mr("shot(gus)"))


def test_options_changed_after_training_do_not_spoil_the_file(parser, tmp_path):
    changed = pickle.loads(pickle.dumps(parser))
    other = "paper" if parser.algorithm == "latent" else "latent"
    changed.set_params(algorithm=other, features=("order",), C=7.0, threshold=0.25).save(tmp_path / "m.ssvm")
    loaded = Ospas.load(tmp_path / "m.ssvm")
    assert (loaded.algorithm, loaded.C, loaded.threshold) == (parser.algorithm, parser.C, 0.25)
    assert loaded.parse("anna shoots") == changed.parse("anna shoots")


def test_a_parser_survives_pickling(parser):
    copy = pickle.loads(pickle.dumps(parser))
    for sentence in commentary(20, seed=5)[0]:
        assert copy.parse(sentence) == parser.parse(sentence)
    copy.partial_fit("gus shoots", ["shot(gus)"])


def test_other_models_and_damaged_ones_are_refused(parser, tmp_path):
    path = tmp_path / "m.ssvm"
    save_model(path, {}, {"kind": "tagger"})
    with pytest.raises(ModelFileError, match="not a semantic parser"):
        Ospas.load(path)
    parser.save(path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ModelFileError, match="damaged"):
        Ospas.load(path)


def test_forged_files_are_refused_not_trusted(parser, tmp_path):
    path = tmp_path / "m.ssvm"
    parser.save(path)
    arrays, meta = load_model(path)
    for name, array in arrays.items():
        for forged in (array[:0], array[..., None], array.astype("U8")):
            if forged.shape == array.shape and forged.dtype == array.dtype:
                continue
            save_model(path, {**arrays, name: forged}, meta)
            with pytest.raises(ModelFileError):
                Ospas.load(path)
    fields = (*latent_model.FIELDS.fields, *thesis.FIELDS.fields)
    optional = {field.name for field in fields if field.default is not REQUIRED}
    for key in meta["model"].keys() - optional:
        save_model(path, arrays, {**meta, "model": {k: v for k, v in meta["model"].items() if k != key}})
        with pytest.raises(ModelFileError):
            Ospas.load(path)
    save_model(path, arrays, {**meta, "parameters": {**meta["parameters"], "C": -1}})
    with pytest.raises(ModelFileError):
        Ospas.load(path)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    ("sentences", "candidates", "what"),
    [
        (["a b"], [], "1 sentences but 0 lists"),
        ([], [], "no sentences"),
        (["a b", "..."], [["f(a)"], ["f(b)"]], "sentence 1 has no words"),
        (["a b"], [[]], "no sentence has candidates"),
        (["a b"], ["f(a)"], "must be a list"),
        (["a b"], [["f(a"]], "sentence 0: 'f\\(a' is not a meaning"),
        ([[1, 2]], [["f(a)"]], "1 is not a word"),
    ],
)
def test_bad_training_data_are_reported_and_change_nothing(algorithm, sentences, candidates, what):
    parser = Ospas(algorithm=algorithm).fit(*DATA[:2])
    before = parser.parse("anna shoots")
    with pytest.raises(ValueError, match=what):
        parser.fit(sentences, candidates)
    assert parser.parse("anna shoots") == before


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_bad_candidates_do_not_harm_a_parser_that_learns_online(algorithm, tmp_path):
    parser = Ospas(algorithm=algorithm).fit(*DATA[:2])
    parser.save(tmp_path / "before.ssvm")
    for sentence, bag in (("anna shoots", ["shot(("]), ("", ["shot(anna)"])):
        with pytest.raises(ValueError, match=r"is not a meaning|no words"):
            parser.partial_fit(sentence, bag)
    parser.save(tmp_path / "after.ssvm")
    assert (tmp_path / "before.ssvm").read_bytes() == (tmp_path / "after.ssvm").read_bytes()


def test_a_schema_that_contradicts_the_data_is_reported():
    schema = Schema.learn([parse_mr("shot(anna)")])
    with pytest.raises(SchemaError, match="takes 1 argument"):
        Ospas(schema=schema).fit(["anna shoots bob"], [["shot(anna, bob)"]])
    with pytest.raises(SchemaError, match="no relation 'pass'"):
        Ospas(schema=schema.to_json()).partial_fit("anna passes", ["pass(anna)"])


def test_a_given_schema_is_kept(tmp_path):
    schema = Schema.learn([*map(parse_mr, {mr for bag in DATA[1] for mr in bag})])
    parser = Ospas(schema=schema).fit(*DATA[:2])
    assert parser.schema_ is schema
    parser.save(tmp_path / "m.ssvm")
    assert Ospas.load(tmp_path / "m.ssvm").schema_ == schema


def test_unknown_words_and_symbols_at_prediction_do_no_harm(parser):
    assert isinstance(parser.parse("xyzzy plugh"), list)
    with pytest.warns(UserWarning, match="'zed' was in no candidate"):
        assert parser.match("zed shoots", ["shot(zed)"]) is None
    with pytest.raises(MeaningError):
        parser.align("anna shoots", "shot(")


def test_the_number_of_meanings_is_limited(parser):
    assert parser.parse("anna shoots", 1000)
    with pytest.raises(ValueError, match="n must be at most 1000, got 3000000000"):
        parser.parse("anna shoots", 3_000_000_000)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("sentence", ["!!!", " .", "", []])
def test_a_sentence_without_words_means_nothing(algorithm, sentence):
    parser = Ospas(algorithm=algorithm).fit(*DATA[:2])
    assert parser.parse(sentence) == []
    assert parser.predict([sentence]).tolist() == [None]
    assert parser.match(sentence, ["shot(anna)"]) is None
    assert parser.align(sentence, "shot(anna)") is None
    assert parser.explain(sentence) == []


def test_averaging_has_an_effect_or_is_refused():
    with pytest.raises(
        ValueError, match="average has no effect with algorithm='latent' and with solver='larank'"
    ):
        Ospas(average=False).fit(*DATA[:2])
    mean, last = (Ospas(solver="pa", average=average).fit(*DATA[:2]) for average in (True, False))
    assert mean.parse("anna shoots")[0].score != last.parse("anna shoots")[0].score


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_sentences_without_candidates_are_accepted(algorithm):
    sentences, bags = DATA[:2]
    parser = Ospas(algorithm=algorithm).fit([*sentences, "nice weather today"], [*bags, []])
    parser.partial_fit("hello again", [])
    assert parser.match(sentences[0], []) is None
    found = Ospas(algorithm=algorithm).match_apart([*sentences, "nice day"], [*bags, []], parts=2)
    assert found[-1] is None
    assert any(found)


@pytest.mark.parametrize(
    "options",
    [{"algorithm": "magic"}, {"C": 0}, {"passes": 0}, {"strategy": "up"}, {"empties": "few"},
     {"threshold": -1}, {"salience": "high"}, {"random_state": -1}, {"iterations": 0}, {"schema": {}},
     {"features": ["colour"]}, {"features": "pairs"}, {"solver": "magic"}, {"unnamed": 0}, {"prior": -1}],
)  # fmt: skip
def test_bad_options_are_refused(options):
    with pytest.raises(ValueError):  # noqa: PT011
        Ospas(**options).fit(*DATA[:2])


@pytest.mark.parametrize(
    ("name", "value", "most"),
    [("C", 1e308, "1e+06"), ("salience", 5.0, "1"), ("unnamed", 2.0, "1"), ("prior", 1e300, "1e+06"),
     ("nothing", 1e300, "1e+06"), ("passes", 10**6, "10,000"), ("iterations", 10**6, "1,000"),
     ("reprocess", 10**6, "1,000")],
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(name, value, most):
    with pytest.raises(ValueError, match=re.escape(f"{name} must be at most {most}, got {value!r}")):
        Ospas(**{name: value}).fit(*DATA[:2])


@pytest.mark.parametrize(("name", "value"), [("salience", 2.0), ("passes", 20_000), ("reprocess", 5_000)])
def test_a_saved_parser_with_values_beyond_the_bounds_can_be_used(name, value, tmp_path):
    Ospas().fit(*DATA[:2]).save(tmp_path / "new.ssvm")
    arrays, meta = load_model(tmp_path / "new.ssvm")
    meta["parameters"][name] = value
    save_model(tmp_path / "old.ssvm", arrays, meta)
    old, new = (Ospas.load(tmp_path / file) for file in ("old.ssvm", "new.ssvm"))
    assert list(old.predict(DATA[0][:5])) == list(new.predict(DATA[0][:5]))
    with pytest.raises(ValueError, match=f"{name} must be at most"):
        old.partial_fit(DATA[0][0], DATA[1][0])


def test_a_parser_that_has_not_learned_says_so():
    with pytest.raises(Exception, match="not fitted"):
        Ospas().parse("anna shoots")


@pytest.mark.parametrize("solver", ["pa", "larank"])
def test_what_a_progress_function_returns_does_not_matter(solver):
    X, bags, _ = commentary(40)
    plain = Ospas(solver=solver).fit(X, bags)
    told = Ospas(solver=solver).fit(X, bags, progress=lambda done, total: True)
    assert [str(parse.mr) for x in X for parse in told.parse(x)] == [
        str(parse.mr) for x in X for parse in plain.parse(x)
    ]
    for name, table in plain.model_.tables.all.items():
        assert np.array_equal(table.w, told.model_.tables.all[name].w)


@pytest.mark.parametrize(
    ("algorithm", "option"),
    [("paper", {"solver": "pa"}), ("paper", {"unnamed": 0.3}), ("latent", {"strategy": "random"})],
)
def test_an_option_of_the_other_algorithm_is_refused(algorithm, option):
    X, bags, _ = commentary(10)
    with pytest.raises(ValueError, match=f"{next(iter(option))} has no effect"):
        Ospas(algorithm=algorithm, **option).fit(X, bags)
    with pytest.raises(ValueError, match=f"{next(iter(option))} has no effect"):
        Ospas(algorithm=algorithm, **option).partial_fit(X[0], bags[0])


def test_a_number_of_clauses_that_no_sentence_has_is_refused():
    with pytest.raises(ValueError, match="clauses must be at most 8"):
        Ospas(clauses=2**28 - 1).fit(["anna sings"], [["sing(anna)"]])
    text = "anna sings so it goes on and on and on in the game right now"
    assert Ospas(clauses=8).fit([text], [["sing(anna)"]]).parse("anna") is not None


def test_the_work_of_a_chart_is_bounded_by_leaving_out_words_that_stand_for_nothing(monkeypatch):
    parser = Ospas().fit(*DATA[:2])
    words = DATA[0][0].split()
    long = ["hm"] * 20 + words
    states = parser.model_.grammar.search.n_states
    monkeypatch.setattr(latent_features, "MOST_WORK", states * (len(words) - 0.5) ** 3)
    assert [word.text for word in parser.model_.viewer.view(long, grow=False).words] == words
    assert parser.predict([" ".join(long)]) == parser.predict([DATA[0][0]]) != [None]
