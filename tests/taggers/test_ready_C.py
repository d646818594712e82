"""The default of C for ready features: it depends on the length of the features, and the model keeps it."""

import pytest

from taggers import NerTagger, SequenceTagger
from taggers.commands.crossing import crossval
from taggers.sources.memory import MemorySource
from taggers.trainer import READY_C
from taggers.tuning import find_options
from taggers.weak.crossing import Folds
from tests.taggers.command_line import run
from tests.taggers.sentences import names_in_context

X, Y = names_in_context(40)


def items(X, copies=1, value=1.0):
    """Each token as a dict with 2 * copies features."""

    def item(word):
        return {f"{name}{k}:{text}": value for k in range(copies) for name, text in ends(word)}

    def ends(word):
        return ("word", word), ("end", word[-1])

    return [[item(word) for word in words] for words in X]


@pytest.mark.parametrize(("copies", "value"), [(1, 1.0), (4, 1.0), (2, 3.0)])
def test_C_is_inverse_to_the_squared_length_of_the_features(copies, value):
    tagger = NerTagger(epochs=1).fit(items(X, copies, value), Y)
    assert tagger.settings()["C"] == pytest.approx(READY_C / (2 * copies * value**2), rel=0.05)
    assert tagger.C is None


def test_copies_of_all_features_do_not_change_the_predictions():
    one, four = (NerTagger().fit(items(X, n), Y).predict(items(X, n)) for n in (1, 4))
    assert one == four


def test_a_given_C_and_templates_keep_their_values():
    assert NerTagger(C=0.3).fit(items(X), Y).settings()["C"] == 0.3
    tagger = NerTagger().fit(items(X), Y)
    assert tagger.fit(X, Y).settings()["C"] == NerTagger().settings()["C"] == 0.05


def test_training_continues_with_the_C_that_was_chosen(tmp_path):
    tagger = SequenceTagger(epochs=1).fit(items(X), Y)
    chosen = tagger.settings()["C"]
    tagger.save(tmp_path / "m.ssvm", training_state=True)
    loaded = SequenceTagger.load(tmp_path / "m.ssvm")
    assert loaded.settings()["C"] == chosen
    for one in (tagger, loaded):
        one.partial_fit(items(X, 4), Y)
        assert one.settings()["C"] == one.optimizer_.C == chosen
    online = SequenceTagger().partial_fit(items(X), Y)
    assert online.settings()["C"] == chosen
    assert SequenceTagger(algorithm="perceptron").fit(items(X), Y).settings()["C"] is not None


def test_folds_and_trials_use_it_and_trials_try_multiples():
    folds = Folds(NerTagger(epochs=1), MemorySource(items(X), Y), folds=2)
    assert folds.settings["C"] == pytest.approx(READY_C / 2, rel=0.05)
    tuning = find_options(NerTagger(), items(X), Y, trials=4)
    values = {trial.options["C"] for trial in tuning.trials if "C" in trial.options}
    assert values <= {0.3, 0.31, 0.32, 0.6, 0.62, 0.63, 2.4, 2.5, 2.6, 4.8, 5.0, 5.2}


def test_the_command_line_names_it(tmp_path):
    path = tmp_path / "items.crfsuite"
    path.write_text(
        "".join(
            "".join(f"{label}\tword={word}\tend={word[-1]}\n" for word, label in zip(*pair, strict=True))
            + "\n"
            for pair in zip(X, Y, strict=True)
        )
    )
    done = run("train", "ner", path, "-o", tmp_path / "m.ssvm", cwd=tmp_path)
    assert b"C 1.2 (for these features)" in done.stderr
    given = run("train", "ner", path, "-C", 0.3, "-o", tmp_path / "m.ssvm", cwd=tmp_path)
    assert b"for these features" not in given.stderr
    assert crossval("ner", path, folds=2, epochs=1).evaluation.f1 > 0
