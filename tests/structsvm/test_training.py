"""`passes`: one rule of patience, the weights of the best pass, the report and the callbacks."""

import warnings

import numpy as np
import pytest

from structsvm import ConvergenceWarning, LaRank, Multiclass, SVMStruct
from structsvm.training import Report, passes
from tests.structsvm.helpers import noisy_classes


class Scripted:
    """A learner whose w is the number of its passes; `stop_after` passes it has converged."""

    def __init__(self, stop_after=np.inf, advice=""):
        self.epochs_done, self.dual_, self.n_support_patterns_, self.n_argmax_ = 0, 0.0, 0, 0
        self.stop_after, self.advice = stop_after, advice

    def epoch(self):
        self.epochs_done += 1
        self.dual_, self.n_support_patterns_, self.n_argmax_ = -1.0 / self.epochs_done, 3, 7
        return self.epochs_done >= self.stop_after

    def unconverged(self):
        return self.advice


def scripted(scores, learner=None, **options):
    learner = learner or Scripted()
    return passes(learner, score=lambda: (scores[learner.epochs_done - 1], learner.epochs_done), **options)


def test_the_weights_of_the_first_best_pass_are_kept():
    report = scripted([0.1, 0.7, 0.3, 0.7], epochs=4)
    assert (report.weights, report.best, report.epochs, report.ended) == (2, 1, 4, "epochs")
    assert report.scores == [0.1, 0.7, 0.3, 0.7]


@pytest.mark.parametrize(("patience", "made"), [(1, 3), (2, 4), (3, 7), (None, 7)])
def test_training_ends_if_so_many_passes_have_not_improved_the_best_score(patience, made):
    report = scripted([0.1, 0.5, 0.4, 0.5, 0.6, 0.2, 0.1], epochs=7, patience=patience)
    assert report.epochs == made
    assert report.ended == ("patience" if made < 7 else "epochs")


def test_without_a_score_nothing_is_kept_and_patience_has_no_effect():
    report = passes(Scripted(), epochs=3, patience=1)
    assert (report.epochs, report.scores, report.weights, report.best) == (3, [], None, None)


def test_a_learner_that_has_converged_ends_training_after_its_pass_is_scored():
    report = scripted([0.2, 0.4, 0.9], Scripted(stop_after=2), epochs=3)
    assert (report.epochs, report.weights, report.ended) == (2, 2, "learner")


def test_every_callback_sees_every_pass_and_any_of_them_ends_training():
    seen = []
    report = scripted(
        [0.5, 0.4, 0.6], epochs=9,
        callbacks=[lambda done: done.epoch == 2, lambda done: seen.append((done.score, done.is_best))],
    )  # fmt: skip
    assert report.ended == "callback"
    assert seen == [(0.5, True), (0.4, False), (0.6, True)]


def test_a_report_is_continued_with_its_scores():
    learner = Scripted()
    report = scripted([0.9, 0.8], learner, epochs=2, patience=3)
    more = Report(report.epochs, report.scores, report.weights)
    assert scripted([0.9, 0.8, 0.7, 0.6, 0.5], learner, epochs=5, patience=3, report=more) is more
    assert (more.epochs, more.weights, more.ended) == (4, 1, "patience")
    assert scripted([], learner, epochs=9, patience=3, report=more).epochs == 4  # nothing is left to do


def test_the_report_has_the_passes_before_an_exception():
    report = Report()

    def fail(done):
        if done.epoch:
            raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        scripted([0.1, 0.2, 0.3], epochs=3, callbacks=[fail], report=report)
    assert (report.scores, report.ended) == ([0.1, 0.2], "")


def test_a_learner_that_has_not_converged_warns_the_caller_only_if_all_passes_were_made():
    with pytest.warns(ConvergenceWarning, match="allow more") as found:
        passes(Scripted(advice="allow more"), epochs=1)
    assert found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        passes(Scripted(stop_after=1, advice="allow more"), epochs=1)


@pytest.mark.parametrize(
    ("kind", "options", "told"),
    [
        (LaRank, {"gap_tolerance": 1e-9, "epochs": 1}, "duality gap is .* after 1 epochs"),
        (SVMStruct, {"epsilon": 1e-6, "epochs": 1}, "has not converged after 1 epochs: the last one still"),
    ],
)
def test_an_optimizer_warns_at_the_line_that_called_fit(kind, options, told):
    with pytest.warns(ConvergenceWarning, match=told) as found:
        kind(Multiclass(), **options).fit(*noisy_classes(60))
    assert found[0].filename == __file__


def test_passes_of_an_optimizer_learn_what_fit_learns():
    X, y = noisy_classes(90)
    whole = LaRank(Multiclass(), epochs=3).fit(X, y)
    one = LaRank(Multiclass()).begin(X, y)
    passes(one, epochs=3)
    assert one.weights_.tobytes() == whole.weights_.tobytes()
    assert (one.dual_, one.n_support_patterns_) == (whole.dual_, whole.n_support_patterns_)


def test_a_gap_tolerance_ends_passes_as_it_ends_fit():
    X, y = noisy_classes(90)
    whole = LaRank(Multiclass(), gap_tolerance=0.1).fit(X, y)
    one = LaRank(Multiclass(), gap_tolerance=0.1).begin(X, y)
    assert passes(one, epochs=1000).ended == "learner"
    assert one.weights_.tobytes() == whole.weights_.tobytes()
