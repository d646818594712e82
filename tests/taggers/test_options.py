"""Each option once: constructor, command line, model files and the reference page come from one table."""

import inspect

import pytest
from typer.main import get_command_from_info
from typer.models import CommandInfo

from structsvm.cli.flags import with_flags
from structsvm.cli.train import TrainCommand, train
from structsvm.options import Option, check_conflicts, check_rules, option, with_options
from taggers import Chunker, MorphTagger, NerTagger, PosTagger, SequenceTagger, conflicts
from taggers.labels import schemes
from taggers.model_file import check_parameters
from taggers.options import OPTIONS, SCHEMES, TASKS, defaults, table
from tests.taggers.sentences import chunk_data

X, Y = chunk_data(20)


def flags_of(options):
    info = CommandInfo(name="train", cls=TrainCommand, callback=with_flags(train, options))
    command = get_command_from_info(info, pretty_exceptions_short=False, rich_markup_mode=None)
    return {flag: parameter for parameter in command.params for flag in parameter.opts}


def test_an_option_added_to_the_table_is_everywhere(tmp_path):
    @with_options
    class Warm(SequenceTagger):
        """A tagger."""

        warmth: int = option(
            default=3, help="How warm to begin.", flag="--warmth", low=1, needs={"algorithm": ("larank",)}
        )

    options = tuple(Warm.OPTIONS.values())
    assert Warm().warmth == 3
    assert Warm(warmth=5).get_params()["warmth"] == 5
    assert inspect.signature(Warm).parameters["warmth"].default == 3
    assert "warmth : int, default=3\n        How warm to begin." in Warm.__doc__
    assert flags_of(options)["--warmth"].help == "How warm to begin."
    assert "--warmth" not in flags_of(OPTIONS)
    check_parameters({"warmth": 2, "class": "Warm"}, options)
    with pytest.raises(ValueError, match="warmth"):
        check_parameters({"warmth": "hot"}, options)
    with pytest.raises(ValueError, match="warmth"):
        check_parameters({"warmth": 2})
    Warm(warmth=2).fit(X, Y).save(tmp_path / "m")
    assert Warm.load(tmp_path / "m").warmth == 2
    defaults = "| `3` " * 5
    line = f"| `warmth` | `--warmth` {defaults}| How warm to begin. Only for `algorithm` larank. |\n"
    assert line in table(options)
    with pytest.raises(ValueError, match=r"^warmth must be an integer of at least 1, got 0"):
        Warm(warmth=0).fit(X, Y)
    with pytest.raises(ValueError, match=r"^warmth has no effect with algorithm='pa'; leave it out"):
        Warm(warmth=4, algorithm="pa").fit(X, Y)


def test_the_constructor_shows_its_options():
    for cls in (SequenceTagger, PosTagger, Chunker, NerTagger):
        shown = inspect.signature(cls).parameters
        assert {name: p.default for name, p in shown.items()} == {o.name: o.initial for o in OPTIONS}
        assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in shown.values())
        assert sorted(cls().get_params()) == sorted(shown)
    with pytest.raises(TypeError, match="unexpected keyword argument 'epoch'"):
        Chunker(epoch=3)


def test_every_flag_of_the_table_is_on_the_command_line():
    flags = flags_of(OPTIONS)
    for one in OPTIONS:
        if one.flag:
            assert flags[one.flag].help == one.help
    assert not {"--callback", "--patience", "--constrained"} & set(flags)


def test_defaults_depend_on_the_task_and_the_inference():
    classes = {
        "pos": PosTagger, "morph": MorphTagger, "chunk": Chunker, "ner": NerTagger, "label": SequenceTagger,
    }  # fmt: skip
    assert tuple(classes) == TASKS
    for task, cls in classes.items():
        assert cls().settings() == {option.name: option.value(*defaults(task)) for option in OPTIONS}
    assert (MorphTagger().settings()["order"], MorphTagger().settings()["reprocess"]) == (2, 1)
    exact = NerTagger(inference="exact").settings()
    assert (exact["order"], exact["reprocess"]) == (1, 5)
    assert Chunker(inference="greedy").settings()["order"] == 2
    assert Chunker(C=3.0).settings()["C"] == 3.0


def test_schemes_are_those_that_labels_can_be_in():
    assert SCHEMES == schemes.SCHEMES


@pytest.mark.parametrize(
    ("given", "algorithm"),
    [({"C": 1.0}, "perceptron"), ({"reprocess": 2}, "pa"), ({"reprocess": 2}, "svmstruct")],
)
def test_options_without_effect_are_refused(given, algorithm):
    name = next(iter(given))
    tagger = SequenceTagger(algorithm=algorithm, **given)
    for train_on in (tagger.fit, tagger.partial_fit):
        with pytest.raises(
            ValueError, match=f"^{name} has no effect with algorithm='{algorithm}'; leave it out"
        ):
            train_on(X, Y)
    flag = {"C": "-C", "reprocess": "--reprocess"}[name]
    with pytest.raises(ValueError, match=f"^{flag} has no effect with --algorithm {algorithm}; leave it out"):
        check_conflicts(OPTIONS, given, {"algorithm": algorithm}, flags=True)
    check_conflicts(OPTIONS, given, {"algorithm": "larank"}, flags=True)


def test_a_model_is_resumed_with_an_algorithm_that_has_fewer_options(tmp_path):
    SequenceTagger(C=0.5, reprocess=2).fit(X, Y).save(tmp_path / "m")
    tagger = SequenceTagger.load(tmp_path / "m", algorithm="perceptron")
    assert (tagger.C, tagger.reprocess) == (None, None)
    with pytest.warns(UserWarning, match="without its training state"):
        tagger.partial_fit(X, Y)
    with pytest.raises(ValueError, match="C has no effect"):
        SequenceTagger.load(tmp_path / "m", algorithm="perceptron", C=1.0).partial_fit(X, Y)


@pytest.mark.parametrize(
    ("name", "value"),
    [("epochs", 0), ("epochs", 1.5), ("cutoff", 0), ("order", -1), ("reprocess", True), ("patience", -1)],
)
def test_values_out_of_range_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least"):
        SequenceTagger(**{name: value}).fit(X, Y)


@pytest.mark.parametrize(
    ("given", "inference"),
    [
        ({"order": 2}, "greedy"),
        ({"order": 0}, "greedy"),
        ({"template": "w[0], y[-2]|w[0]"}, "greedy"),
        ({"template": "ner + template"}, "greedy"),
        ({"order": 1}, "exact"),
        ({"template": "ner + y[-1]|w[0]"}, "exact"),
        ({"template": "# y[-2]|w[0]\nw[0]"}, "exact"),
        ({"template": "ner + city[-2]", "gazetteers": {"city": ["Ada"]}}, "exact"),
    ],
)
def test_what_exact_inference_cannot_use_implies_greedy(given, inference, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "template").write_text("w[0]\ny[-2]|w[0]\n")
    tagger = NerTagger(**given).fit([["Ada", "left"]] * 3, [["B-PER", "O"]] * 3)
    assert tagger.model_.labels.inference == inference
    assert tagger.settings()["reprocess"] == (1 if inference == "greedy" else 5)


def test_tables_of_conflicts_name_flags_that_exist():
    tables = [found for found in vars(conflicts).values() if isinstance(found, tuple)]
    tables = [found for found in tables if found and isinstance(found[0], Option)]
    said = {conflicts.MODEL, conflicts.FILE, conflicts.FORMAT, "task"}
    assert len(tables) == 8
    for rules in tables:
        names = {one.name for one in rules}
        assert all({*one.needs, *one.excludes} <= names | said for one in rules)


def test_a_rule_of_a_command_refuses_the_flag_in_both_directions():
    check_rules(
        conflicts.TAG, nbest=1, replace=True, label=0, scores=False, **{conflicts.MODEL: "of one layer"}
    )
    with pytest.raises(ValueError, match=r"^--nbest cannot be combined with --replace; leave one out"):
        check_rules(conflicts.TAG, nbest=2, replace=True)
    with pytest.raises(ValueError, match=r"^--column has no effect with a format that appends labels and w"):
        check_rules(conflicts.TAG, label=0, replace=False, **{conflicts.FORMAT: conflicts.APPENDS})
    with pytest.raises(ValueError, match=r"^--replace cannot be combined with --to jsonl; leave one out"):
        check_rules(conflicts.TAG, replace=True, to="jsonl")
    with pytest.raises(
        ValueError, match=r"^--bias cannot be combined with a model of several layers; leave it"
    ):
        check_rules(conflicts.EVALUATE, model="m", bias={"O": 1.0}, **{conflicts.MODEL: conflicts.LAYERS})
