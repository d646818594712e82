"""Checks for your own problem, optimizer, classifier or tagger; the built-in ones pass them all.

    from structsvm import LaRank
    from structsvm.checks import check_estimator, check_problem

    check_problem(MyProblem(), X, y)
    check_estimator(lambda: LaRank(MyProblem()), X, y)

A check that fails raises AssertionError with a message that says what is wrong.
"""

from __future__ import annotations

import copy
import inspect
import itertools
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from structsvm.problem import Problem, same_output, sparse_vector

CANDIDATES = 1000  # outputs of a pattern that are compared at most
THREADS = 4
TRAININGS = 3  # while other threads predict
Make = Callable[[], Any]


def check_estimator(
    make: Make, X: Any, y: Any, *, new: tuple[Any, Any] | None = None, bad: tuple[Any, Any] | None = None
) -> None:
    """Check an optimizer, classifier or tagger; `make` returns a new one, with the same seed each time.

    It must have `fit` and `predict`; `partial_fit`, `save` and `load` are checked if present. The checks are:
    the same seed gives the same results, also after a fit on other data; prediction does not change the
    model; copies and saved files (with `training_state=True`, if `save` has it) predict and continue to learn
    like the original; bad input raises ValueError or TypeError and changes nothing; several threads can
    predict at the same time, but not train; a prediction while another thread trains is that of the model
    before or after, or raises RuntimeError.

    Parameters
    ----------
    make
        A function that returns a new model, with the same seed each time.
    new
        More data with labels that y does not contain; the model must learn them, or reject them with
        ValueError.
    bad
        Data to reject, such as features that X does not contain, followed by a NaN.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small data need not converge
        for check in (
            unfitted_models_refuse, seeds_repeat, fit_forgets, prediction_is_pure, copies_repeat,
            files_repeat, threads_predict, threads_cannot_train_together,
            threads_predict_during_training,
        ):  # fmt: skip
            check(make, X, y)
        bad_input_changes_nothing(make, X, y, bad)
        if new is not None:
            new_labels_are_learned_or_refused(make, X, y, *new)


def check_problem(problem: Problem, X: Any, y: Any, *, seed: int = 0) -> None:
    """Check a `Problem` on some patterns and their outputs: features, loss, argmax and predictions.

    Weights are drawn at random. The argmax is compared with all candidates, if the problem has `candidates`
    (at most 1000 for each pattern), and otherwise with the true output.
    """
    problem = copy.copy(problem)
    problem.prepare(X, y)
    w = np.random.default_rng(seed).normal(size=problem.n_features)
    for k, (x, output) in enumerate(zip(X, y, strict=True)):
        if not problem.contains(x, output):
            _fail(problem, f"contains(X[{k}], y[{k}]) is False")
        index, value = _feature(problem, x, output)
        again = _feature(problem, x, output)
        if not np.array_equal(index, again[0]) or not np.array_equal(value, again[1]):
            _fail(problem, f"joint_feature(X[{k}], y[{k}]) differs between two calls")
        if problem.loss(output, output) != 0:
            _fail(problem, f"loss(y[{k}], y[{k}]) must be 0, got {problem.loss(output, output)}")
        others = [output, *itertools.islice(_candidates(problem, x), CANDIDATES)]
        scores = np.array([problem.score(x, other, w) for other in others])
        losses = np.array([problem.loss(output, other) for other in others])
        if not np.all(np.isfinite(losses) & (losses >= 0)):
            _fail(problem, f"a loss of X[{k}] is negative or not finite")
        best, worst = problem.argmax(x, w), problem.loss_augmented_argmax(x, output, w)
        for name, answer, least in (
            ("argmax", problem.score(x, best, w), scores.max()),
            ("loss_augmented_argmax", problem.loss(output, worst) + problem.score(x, worst, w),
             (losses + scores).max()),
        ):  # fmt: skip
            if answer < least - 1e-9 * max(1.0, abs(least)):
                _fail(problem, f"{name} of X[{k}] reaches {answer:g}, but another output reaches {least:g}")
        if not problem.contains(x, best) or not problem.contains(x, worst):
            _fail(problem, f"an argmax of X[{k}] is not an output that contains() accepts")
        predicted = problem.predict(X[k : k + 1], w)[0]
        difference = problem.score(x, predicted, w) - problem.score(x, best, w)
        if abs(difference) > 1e-9 * max(1.0, abs(scores.max())):
            _fail(problem, f"predict and argmax disagree on X[{k}]")


# -- the checks of estimators ---------------------------------------------------------------------


def unfitted_models_refuse(make: Make, X: Any, y: Any) -> None:
    model = make()
    try:
        model.predict(X)
    except (ValueError, AttributeError):
        return
    _fail(model, "predict before fit must raise NotFittedError")


def seeds_repeat(make: Make, X: Any, y: Any) -> None:
    model = make().fit(X, y)
    if not _same(_results(model, X), _results(make().fit(X, y), X)):
        _fail(model, "two fits with the same seed and data differ")


def fit_forgets(make: Make, X: Any, y: Any) -> None:
    model = make().fit(*_part(X, y, 1)).fit(X, y)
    if not _same(_results(model, X), _results(make().fit(X, y), X)):
        _fail(model, "fit after an earlier fit differs from fit alone: it must train from scratch")


def prediction_is_pure(make: Make, X: Any, y: Any) -> None:
    model = make().fit(X, y)
    if not _same(_results(model, X), _results(model, X)):
        _fail(model, "two predictions of the same model differ")
    if hasattr(model, "partial_fit"):
        twin = make().fit(X, y).partial_fit(*_part(X, y, 1))
        if not _same(_results(model.partial_fit(*_part(X, y, 1)), X), _results(twin, X)):
            _fail(model, "a model that has predicted learns differently: predict must change nothing")


def copies_repeat(make: Make, X: Any, y: Any) -> None:
    _check_copy(make, X, y, "copied", copy.deepcopy)


def files_repeat(make: Make, X: Any, y: Any) -> None:
    if not hasattr(make(), "save"):
        return
    with tempfile.TemporaryDirectory() as folder:

        def reloaded(model: Any) -> Any:
            keeps = "training_state" in inspect.signature(model.save).parameters
            model.save(Path(folder, "model"), **{"training_state": True} if keeps else {})
            return type(model).load(Path(folder, "model"))

        _check_copy(make, X, y, "saved and loaded", reloaded)


def bad_input_changes_nothing(make: Make, X: Any, y: Any, more: tuple[Any, Any] | None = None) -> None:
    bad = {
        "X without any pattern": (X[:0], y[:0]) if hasattr(X, "__getitem__") else ([], []),
        "more patterns than outputs": (X, y[:-1]) if hasattr(y, "__getitem__") else (X, []),
        "y=None": (X, None),
    }
    if more is not None:
        bad["bad data"] = more
    patterns = [] if more is None else list(more[0])
    for method in ("fit", "partial_fit"):
        for name, arguments in bad.items():
            model = make().fit(X, y)
            if not hasattr(model, method):
                continue
            before = _results(model, X), _answers(model, patterns)
            try:
                getattr(model, method)(*arguments)
            except (ValueError, TypeError):
                if not _same(before, (_results(model, X), _answers(model, patterns))):
                    _fail(model, f"{method} with {name} raised an error but changed the model")
            else:
                _fail(model, f"{method} with {name} must raise ValueError or TypeError")


def new_labels_are_learned_or_refused(make: Make, X: Any, y: Any, X_new: Any, y_new: Any) -> None:
    model = make().fit(X, y)
    before = _results(model, X)
    try:
        model.partial_fit(X_new, y_new)
    except ValueError:
        if not _same(before, _results(model, X)):
            _fail(model, "partial_fit refused new labels but changed the model")
    else:
        model.predict(X_new)


def threads_predict(make: Make, X: Any, y: Any) -> None:
    model = make().fit(X, y)
    expected = _results(model, X)
    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(lambda _: _results(model, X), range(4 * THREADS)))
    if not all(_same(expected, one) for one in found):
        _fail(model, "predictions from several threads at once differ from those of one thread")


def threads_cannot_train_together(make: Make, X: Any, y: Any) -> None:
    """A second training call raises RuntimeError; without a callback to wait in, many calls collide."""
    model = make().fit(X, y)
    train = model.partial_fit if hasattr(model, "partial_fit") else model.fit
    if "callback" in vars(model):
        with _waiting(model, train, X, y) as started:
            try:
                train(X, y)
            except RuntimeError:
                pass
            else:
                if started:
                    _fail(model, "a second thread could train at the same time: raise RuntimeError")
    else:
        barrier = threading.Barrier(THREADS)

        def collide(_: int) -> None:
            barrier.wait(60)
            with suppress(RuntimeError):  # refused, as it should be
                train(X, y)

        with ThreadPoolExecutor(THREADS) as pool:
            try:
                list(pool.map(collide, range(THREADS)))
            except Exception as error:
                _fail(model, f"training in several threads at once raised {error!r}: raise RuntimeError")
    if not _same(_results(model, X), _results(copy.deepcopy(model), X)):
        _fail(model, "training in several threads at once left a model that a copy does not repeat")


def threads_predict_during_training(make: Make, X: Any, y: Any) -> None:
    """Other threads see the model between two training calls, or RuntimeError, but nothing in between."""
    model, twin = make().fit(X, y), make().fit(X, y)
    train = "partial_fit" if hasattr(model, "partial_fit") else "fit"
    right = [twin.predict(X)]
    for _ in range(TRAININGS):
        right.append(getattr(twin, train)(X, y).predict(X))
    stop = threading.Event()

    def predict(_: int) -> None:
        while not stop.is_set():
            try:
                found = model.predict(X)
            except RuntimeError:  # a model may refuse to predict during training
                stop.wait(1e-3)  # retrying at once would take CPU time from training
                continue
            if not any(_same(found, one) for one in right):
                _fail(model, "a prediction during training mixes the model before it and after it")

    with ThreadPoolExecutor(THREADS) as pool:
        try:
            readers = [pool.submit(predict, number) for number in range(THREADS)]
            for _ in range(TRAININGS):
                getattr(model, train)(X, y)
        finally:
            stop.set()
        for reader in readers:
            try:
                reader.result()
            except AssertionError:
                raise
            except Exception as error:
                _fail(model, f"a prediction during training raised {error!r}: raise RuntimeError")
    if not _same(model.predict(X), right[-1]):
        _fail(model, "a model that other threads asked during training learned something else")


@contextmanager
def _waiting(model: Any, train: Callable[[Any, Any], Any], X: Any, y: Any) -> Iterator[bool]:
    """Train in another thread, which waits in the callback; False if training never calls it."""
    inside, leave = threading.Event(), threading.Event()
    owner = threading.get_ident()

    def wait(_: Any) -> None:
        if threading.get_ident() != owner:
            inside.set()
            leave.wait(60)

    model.callback = wait
    thread = threading.Thread(target=train, args=(X, y))
    thread.start()
    while thread.is_alive() and not inside.wait(0.01):
        pass
    try:
        yield inside.is_set()
    finally:
        leave.set()
        thread.join()
        model.callback = None


# -- helpers ----------------------------------------------------------------------------------------


def _check_copy(make: Make, X: Any, y: Any, how: str, copied: Callable[[Any], Any]) -> None:
    model = make().fit(X, y)
    twin = copied(model)
    if not _same(_results(model, X), _results(twin, X)):
        _fail(model, f"a {how} model predicts differently")
    if hasattr(model, "partial_fit"):
        more = _part(X, y, 1)
        if not _close(_results(model.partial_fit(*more), X), _results(twin.partial_fit(*more), X)):
            _fail(model, f"a {how} model learns differently in partial_fit")


def _results(model: Any, X: Any) -> list[Any]:
    """All predictions of a model for X."""
    results = [model.predict(X)]
    if hasattr(model, "decision_function"):
        results.append(model.decision_function(X))
    if hasattr(model, "weights_"):
        results.append(np.array(model.weights_))
    return results


def _answers(model: Any, patterns: list[Any]) -> list[Any]:
    """The predictions of a model for each pattern; None where it rejects the pattern."""
    answers = []
    for x in patterns:
        try:
            answers.append(model.predict([x]))
        except (ValueError, TypeError):
            answers.append(None)
    return answers


def _same(a: Any, b: Any) -> bool:
    return same_output(a, b)


def _close(a: list[Any], b: list[Any]) -> bool:
    """Whether two results are equal up to rounding.

    Training can amplify rounding: a kernel machine may recompute values that the original had cached.
    """
    return all(
        one.shape == other.shape
        and np.allclose(one, other, rtol=0, atol=1e-3 * np.abs(one).max(initial=1e-9))
        if isinstance(one, np.ndarray) and one.dtype.kind == "f"
        else _same(one, other)
        for one, other in zip(a, b, strict=True)
    )


def _part(X: Any, y: Any, half: int) -> tuple[Any, Any]:
    """The first or second half of the data, or all of it if X cannot be sliced."""
    if not hasattr(X, "__getitem__") or not hasattr(y, "__getitem__"):
        return X, y
    middle = (X.shape[0] if hasattr(X, "shape") else len(X)) // 2
    cut = slice(middle, None) if half else slice(None, middle)
    return X[cut], y[cut]


def _feature(problem: Problem, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    try:
        return sparse_vector(problem.joint_feature(x, y), problem.n_features)
    except ValueError as error:
        _fail(problem, str(error))


def _candidates(problem: Problem, x: Any) -> Iterator[Any]:
    return iter(() if type(problem).candidates is Problem.candidates else problem.candidates(x))


def _fail(subject: Any, sentence: str) -> NoReturn:
    raise AssertionError(f"{type(subject).__name__}: {sentence}")
