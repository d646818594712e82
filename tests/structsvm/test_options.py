"""The options of optimizers and classifiers stand in tables; all else is made from them."""

import inspect

import numpy as np
import pytest

from structsvm import KernelLaRank, LaRank, LaRankClassifier, Multiclass, Perceptron, SVMStruct
from structsvm.binary import HullerClassifier, KernelPerceptron, LaSVMClassifier, SGDQNClassifier
from structsvm.files import ModelFileError
from structsvm.files.persist import load_model, save_model
from structsvm.optimizers import ParallelLaRank
from structsvm.options import markdown, option, with_options

X, Y = np.eye(3)[np.arange(30) % 3], np.arange(30) % 3
PAIRS = np.arange(30) % 2
CLASSIFIERS = [LaRankClassifier, LaSVMClassifier, SGDQNClassifier, HullerClassifier, KernelPerceptron]
OPTIMIZERS = [LaRank, SVMStruct, Perceptron, ParallelLaRank, KernelLaRank]
WARMTH = option(
    default=3, low=1, help="How warm to begin.", fixed_on_resume=True, needs={"random_state": (0, 1)}
)


def warm(kind):
    """The class with another option."""
    return with_options(type("Warm", (kind,), {"__annotations__": {"warmth": "int"}, "warmth": WARMTH}))


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_an_option_added_to_the_table_of_a_classifier_is_everywhere(kind, tmp_path):
    new = warm(kind)
    assert inspect.signature(new).parameters["warmth"].default == 3
    assert new(warmth=5).get_params()["warmth"] == 5
    assert "warmth : int, default=3\n        How warm to begin." in new.__doc__
    assert "| `warmth` | `3` | How warm to begin. Only for `random_state` 0, 1. Fixed" in markdown(
        new.OPTIONS.values(), {"Default": ()}
    )
    with pytest.raises(ValueError, match=r"^warmth must be an integer of at least 1, got 0"):
        new(warmth=0).fit(X, PAIRS)
    with pytest.raises(ValueError, match=r"^warmth has no effect with random_state=7; leave it out"):
        new(warmth=4, random_state=7).fit(X, PAIRS)
    model = new(warmth=4).partial_fit(X, PAIRS)
    model.warmth = 5
    with pytest.raises(ValueError, match="warmth was changed since fit"):
        model.partial_fit(X, PAIRS)
    model.save(tmp_path / "m")
    assert new.load(tmp_path / "m").warmth == 4
    arrays, meta = load_model(tmp_path / "m")
    meta["parameters"]["warmth"] = "hot"
    save_model(tmp_path / "m", arrays, meta)
    with pytest.raises(ModelFileError, match="warmth must be an integer"):
        new.load(tmp_path / "m")


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_an_option_added_to_the_table_of_an_optimizer_is_everywhere(kind):
    new = warm(kind)
    assert inspect.signature(new).parameters["warmth"].default == 3
    assert "warmth : int, default=3\n        How warm to begin." in new.__doc__
    assert new(Multiclass(), warmth=2).fit(X, Y).warmth == 2
    with pytest.raises(ValueError, match=r"^warmth must be an integer of at least 1, got 0"):
        new(Multiclass(), warmth=0).fit(X, Y)
    with pytest.raises(TypeError, match="unexpected keyword argument 'warmth'"):
        kind(Multiclass(), warmth=2)


@pytest.mark.parametrize("kind", [*CLASSIFIERS, *OPTIMIZERS])
def test_each_option_is_described_and_has_an_allowed_default(kind):
    parameters = inspect.signature(kind).parameters
    assert list(parameters) == sorted(kind.OPTIONS, key=lambda name: kind.OPTIONS[name].kw_only)
    for one in kind.OPTIONS.values():
        assert one.help.endswith(".")
        assert f"    {one.name} : " in kind.__doc__
        if one.initial is not inspect.Parameter.empty:
            one.check(one.initial)


def test_the_first_options_of_some_estimators_have_a_position():
    assert LaRankClassifier(2.0).C == LaSVMClassifier(2.0).C == SGDQNClassifier(2.0).lam == 2.0
    problem = Multiclass()
    assert LaRank(problem).problem is LaRank(problem=problem).problem is problem
    with pytest.raises(TypeError, match="missing a required argument: 'problem'"):
        LaRank()
    with pytest.raises(TypeError, match="too many positional arguments"):
        LaRank(problem, 1.0)
