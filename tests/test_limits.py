"""Numbers that users set have bounds; values outside are refused in one sentence, before any work."""

import inspect
import types
import typing
from importlib import import_module

import numpy as np
import pytest
from typer.testing import CliRunner

from semparse import ConceptLabeller, Ospas
from structsvm import (
    KernelLaRank,
    KernelSVMStruct,
    LaRank,
    LaRankClassifier,
    Multiclass,
    PassiveAggressive,
    Perceptron,
    SVMStruct,
)
from structsvm.binary import (
    HullerClassifier,
    KernelPassiveAggressive,
    KernelPerceptron,
    LaSVMClassifier,
    SGDQNClassifier,
    TrackingClassifier,
)
from structsvm.cli.app import COMMANDS, app
from structsvm.optimizers import ParallelLaRank
from taggers import SequenceTagger
from tests.taggers.command_line import refused, run
from tests.taggers.sentences import as_columns

ABSURD = {int: ["nan", "inf", "1e300", str(10**30), "-1"], float: ["nan", "inf", "-inf", "1e300", "-1"]}
NEVER = [float("nan"), float("inf"), -1, 1e300, 10**400, 10**12, np.float64("nan"), "1", True]


def functions():
    """The functions of all commands, with the words that call them."""
    for name in COMMANDS:
        module = import_module(f"structsvm.cli.{name}")
        if hasattr(module, "app"):
            for one in module.app.registered_commands:
                yield [name, one.callback.__name__], one.callback
        else:
            yield [name], getattr(module, "command", None) or getattr(module, name)


def numeric_options():
    for words, function in functions():
        for parameter in inspect.signature(function, eval_str=True).parameters.values():
            kind, information = typing.get_args(parameter.annotation)
            kinds = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
            flag = information.default  # where typer keeps the first name of an annotated option
            if flag is ...:
                flag = "--" + parameter.name.replace("_", "-")
            for number in {int, float}.intersection(kinds):
                yield pytest.param(words, function, flag, number, id=f"{' '.join(words)} {flag}")


def required(function):
    """The arguments and options without a default."""
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        if parameter.default is inspect.Parameter.empty:
            information = typing.get_args(parameter.annotation)[1]
            flags = getattr(information, "param_decls", None) or (f"--{parameter.name}",)
            yield from ["x"] if type(information).__name__ == "ArgumentInfo" else [flags[0], "x"]


@pytest.mark.parametrize(("words", "function", "flag", "kind"), [*numeric_options()])
def test_absurd_numbers_are_refused_by_every_command(words, function, flag, kind):
    for value in ABSURD[kind]:
        done = CliRunner().invoke(app, [*words, flag, value, *required(function)])
        assert (done.exit_code, f"Invalid value for '{flag}'" in done.output) == (2, True), (value, done)


def test_the_walk_finds_the_options():
    found = {option.id for option in numeric_options()}
    assert len(found) > 60
    assert {"parse windows --after", "tune --trials", "train --prune", "train -C", "simulate -n"} <= found


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (f"tune pos t.txt -o m --budget {'9' * 400}h", "--budget must be a number above 0, got inf"),
        ("tune pos t.txt -o m --budget 9999999h", "--budget must be at most 1e+09"),
        (f"train pos t.txt -o m --memory {'9' * 400}G", "--memory must be a number above 0, got inf"),
        ("train pos t.txt -o m --memory 9999999G", "--memory must be at most 1e+15"),
        ("train pos t.txt -o m --label-weight O=nan", "label_weight must contain numbers above 0"),
        ("train pos t.txt -o m --label-weight O=1e300", "at most 1,000,000"),
        ("train pos t.txt -o m --column 1000000000000000000000", "column"),
        ("train pos t.txt -o m --columns 0,1000000000000000000000", "column"),
    ],
)
def test_numbers_within_texts_have_bounds_too(arguments, message, tmp_path):
    (tmp_path / "t.txt").write_bytes(as_columns(5))
    done = run(*arguments.split(), cwd=tmp_path)
    refused(done, done.returncode, message)
    assert done.returncode in (1, 2)
    assert not (tmp_path / "m").exists()


X, Y = np.random.default_rng(0).normal(size=(12, 3)), np.arange(12) % 2
SENTENCES, BAGS = ["gus passes to anna", "anna shoots"] * 3, [["pass(gus, anna)"], ["shot(anna)"]] * 3
LEARNERS = [
    *(
        (make, lambda make, **option: make(Multiclass(), **option).fit(X, Y))
        for make in (
            LaRank, PassiveAggressive, Perceptron, SVMStruct, KernelLaRank, KernelSVMStruct, ParallelLaRank
        )
    ),
    *(
        (make, lambda make, **option: make(**option).fit(X, Y))
        for make in (
            LaRankClassifier, HullerClassifier, KernelPassiveAggressive, KernelPerceptron, LaSVMClassifier,
            SGDQNClassifier, TrackingClassifier,
        )
    ),
    (Ospas, lambda make, **option: make(**option).fit(SENTENCES, BAGS)),
    (ConceptLabeller, lambda make, **option: make(**option).fit([["a"]], [None], [[None]])),
    (SequenceTagger, lambda make, **option: make(**option).fit([["a", "b"]] * 2, [["A", "B"]] * 2)),
]  # fmt: skip
ENDLESS = {("SVMStruct", "C"), ("KernelSVMStruct", "C")}  # infinity means a hard margin
SIGNED = {"coef0"}
NAMED = {"gamma", "tol", "gap_tolerance"}  # strings have their own checks


def numeric_parameters():
    for make, fit in LEARNERS:
        for name, parameter in inspect.signature(make).parameters.items():
            option = getattr(make, "OPTIONS", {}).get(name)
            kind = str(parameter.annotation) if option is None else option.type.__name__
            if name != "random_state" and ("int" in kind or "float" in kind):
                yield pytest.param(make, fit, name, "int" in kind, id=f"{make.__name__} {name}")


@pytest.mark.parametrize(("make", "fit", "name", "whole"), [*numeric_parameters()])
def test_absurd_numbers_are_refused_by_every_estimator(make, fit, name, whole):
    for value in NEVER:
        if (
            (name in SIGNED and value == -1)
            or (name in NAMED and value == "1")
            or ((make.__name__, name) in ENDLESS and value == float("inf"))
            or (value == 10**12 and not whole)  # large, but usable
        ):
            continue
        with pytest.raises(ValueError, match=f"{name}|shards"):
            fit(make, **{name: value})


def test_integers_and_numbers_of_numpy_are_numbers():
    assert LaRankClassifier(C=np.float32(2), gamma=np.float16(1), kernel="rbf").fit(X, Y).score(X, Y) > 0.5
    assert SGDQNClassifier(lam=1).fit(X, Y).score(X, Y) >= 0
