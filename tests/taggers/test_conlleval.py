import json
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from taggers.conlleval import Counts, Evaluation, Share, evaluate, phrases

PUBLISHED = """\
processed 961 tokens with 459 phrases; found: 539 phrases; correct: 371.
accuracy:  84.08%; precision:  68.83%; recall:  80.83%; FB1:  74.35
             ADJP: precision:   0.00%; recall:   0.00%; FB1:   0.00  1
             ADVP: precision:  45.45%; recall:  62.50%; FB1:  52.63  11
               NP: precision:  64.98%; recall:  78.63%; FB1:  71.16  317
               PP: precision:  83.18%; recall:  98.89%; FB1:  90.36  107
             SBAR: precision:  66.67%; recall:  33.33%; FB1:  44.44  3
               VP: precision:  69.00%; recall:  79.31%; FB1:  73.80  100
"""


def labels_of(prefixes, types=("x", "y-z")):
    return st.sampled_from(["O", *(f"{prefix}-{type_}" for prefix in prefixes for type_ in types)])


@st.composite
def gold_and_predicted(draw, labels):
    lengths = draw(st.lists(st.integers(0, 8), max_size=4))
    return tuple([draw(st.lists(labels, min_size=n, max_size=n)) for n in lengths] for _ in range(2))


def test_report_of_the_published_example():
    evaluation = Evaluation(
        tokens=Share(808, 961),
        sequences=Share(0, 40),
        types={
            "VP": Counts(87, 100, 69),
            "ADJP": Counts(6, 1, 0),
            "ADVP": Counts(8, 11, 5),
            "NP": Counts(262, 317, 206),
            "PP": Counts(90, 107, 89),
            "SBAR": Counts(6, 3, 2),
        },
    )
    assert evaluation.phrases == Counts(459, 539, 371)
    assert evaluation.report() == PUBLISHED


def test_report_of_nothing_has_one_line():
    assert evaluate([], []).report() == "processed 0 tokens with 0 phrases; found: 0 phrases; correct: 0.\n"


def test_report_of_a_small_case():
    gold = [["B-x", "I-x", "O", "B-y"], ["B-x"]]
    predicted = [["B-x", "I-x", "B-y", "I-y"], ["B-x"]]
    assert evaluate(gold, predicted).report() == (
        "processed 5 tokens with 3 phrases; found: 3 phrases; correct: 2.\n"
        "accuracy:  60.00%; precision:  66.67%; recall:  66.67%; FB1:  66.67\n"
        "                x: precision: 100.00%; recall: 100.00%; FB1: 100.00  2\n"
        "                y: precision:   0.00%; recall:   0.00%; FB1:   0.00  1\n"
    )


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("I-x I-x O I-x", [("x", 0, 2), ("x", 3, 4)]),
        ("B-x I-y I-x", [("x", 0, 1), ("y", 1, 2), ("x", 2, 3)]),
        ("B-x B-x I-x", [("x", 0, 1), ("x", 1, 3)]),
        ("I-x E-x I-x E-x", [("x", 0, 2), ("x", 2, 4)]),
        ("E-x E-x", [("x", 0, 1), ("x", 1, 2)]),
        ("B-x E-x B-x E-x", [("x", 0, 2), ("x", 2, 4)]),
        ("S-x S-x", [("x", 0, 1), ("x", 1, 2)]),
        ("B-x S-x I-x", [("x", 0, 1), ("x", 1, 2), ("x", 2, 3)]),
        ("B-x L-x U-x", [("x", 0, 2), ("x", 2, 3)]),
        ("[-x . ]-x ]-x", [("x", 0, 1), ("x", 2, 3), ("x", 3, 4)]),
        ("B I . I O-x", [("", 0, 2), ("", 3, 4)]),
        ("Q-x Q-x O", [("x", 0, 2)]),
        ("NN VB O", []),
    ],
)
def test_phrases_are_read_by_the_rules_of_conlleval(labels, expected):
    assert phrases(labels.split()) == expected


def script_counts(gold, predicted):
    """A twin of the script: its tables of tag pairs and its running state, one token after another."""
    ends = {"BB", "BO", "IB", "IO", "EE", "EI", "EO"}
    starts = {"BB", "IB", "OB", "OI", "EE", "EI", "OE"}

    def end_of_chunk(last, this):
        changed = last[0] not in ("O", ".") and last[1] != this[1]
        return last[0] + this[0] in ends or changed or last[0] in ("[", "]")

    def start_of_chunk(last, this):
        changed = this[0] not in ("O", ".") and last[1] != this[1]
        return last[0] + this[0] in starts or changed or this[0] in ("[", "]")

    def parts(label):
        return tuple(label.split("-", 1)) if "-" in label else (label, "")

    outside = ("O", "")
    counts = {}
    in_correct, last_gold, last_guess = False, outside, outside
    for gold_label, guess_label in zip([*gold, "O"], [*predicted, "O"], strict=True):
        gold_tag, guess = parts(gold_label), parts(guess_label)
        gold_ends, guess_ends = end_of_chunk(last_gold, gold_tag), end_of_chunk(last_guess, guess)
        if in_correct and gold_ends and guess_ends and last_gold[1] == last_guess[1]:
            in_correct = False
            counts.setdefault(last_gold[1], [0, 0, 0])[2] += 1
        elif in_correct and (gold_ends != guess_ends or gold_tag[1] != guess[1]):
            in_correct = False
        gold_starts, guess_starts = start_of_chunk(last_gold, gold_tag), start_of_chunk(last_guess, guess)
        if gold_starts and guess_starts and gold_tag[1] == guess[1]:
            in_correct = True
        if gold_starts:
            counts.setdefault(gold_tag[1], [0, 0, 0])[0] += 1
        if guess_starts:
            counts.setdefault(guess[1], [0, 0, 0])[1] += 1
        last_gold, last_guess = gold_tag, guess
    return {type_: Counts(*numbers) for type_, numbers in counts.items()}


def joins_like_the_script(labels):
    return any(left[0] + right[0] == "EB" and left[1:] == right[1:] for left, right in pairwise(labels))


@given(gold_and_predicted(labels_of("BIE")) | gold_and_predicted(labels_of("[].") | st.just(".")))
def test_counts_are_those_of_the_script_but_for_b_after_e(sequences):
    gold, predicted = ([label for labels in part for label in [*labels, "O"]] for part in sequences)
    assume(not joins_like_the_script(gold) and not joins_like_the_script(predicted))
    assert evaluate(*sequences).types == script_counts(gold, predicted)


@pytest.fixture(scope="module")
def seqeval():
    pytest.importorskip("seqeval.metrics")
    return pytest.importorskip("seqeval")


@given(labels=st.lists(labels_of("BIES"), max_size=12))
def test_phrases_are_those_of_seqeval(seqeval, labels):
    found = seqeval.metrics.sequence_labeling.get_entities(labels)
    assert phrases(labels) == [(type_, start, end + 1) for type_, start, end in found]


@pytest.mark.parametrize(("scheme", "name"), [("IOB2", "IOB2"), ("IOBES", "IOBES"), ("BILUO", "BILOU")])
@given(data=st.data())
def test_strict_phrases_are_those_of_seqeval(seqeval, scheme, name, data):
    labels = data.draw(st.lists(labels_of(set(scheme) - set("O2")), max_size=12))
    found = seqeval.scheme.Entities([labels], getattr(seqeval.scheme, name)).entities[0]
    assert phrases(labels, strict=scheme) == [entity.to_tuple()[1:] for entity in found]


@given(sequences=gold_and_predicted(labels_of("BIES")))
def test_scores_are_those_of_seqeval(seqeval, sequences):
    gold, predicted = sequences
    scores = evaluate(gold, predicted).phrases
    assume(scores.gold and scores.found)  # seqeval does not score nothing
    assert scores.precision == pytest.approx(seqeval.metrics.precision_score(gold, predicted))
    assert scores.recall == pytest.approx(seqeval.metrics.recall_score(gold, predicted))
    assert scores.f1 == pytest.approx(seqeval.metrics.f1_score(gold, predicted))


def test_strict_drops_a_phrase_without_its_first_label():
    gold = [["O", "B-x", "I-x"]]
    predicted = [["O", "I-x", "I-x"]]
    assert evaluate(gold, predicted).phrases == Counts(1, 1, 1)
    assert evaluate(gold, predicted, strict="IOB2").phrases == Counts(1, 0, 0)


@given(gold_and_predicted(labels_of("BIES")))
def test_a_phrase_never_reaches_over_the_end_of_its_sequence(sequences):
    apart = [evaluate([gold], [predicted]) for gold, predicted in zip(*sequences, strict=True)]
    together = evaluate(*sequences)
    for name in ("gold", "found", "correct"):
        assert getattr(together.phrases, name) == sum(getattr(one.phrases, name) for one in apart)
    assert together.tokens.correct == sum(one.tokens.correct for one in apart)
    assert together.sequences == Share(sum(one.sequences.correct for one in apart), len(apart))


def test_accuracies_and_confusions_of_parts_of_speech():
    gold = [["N", "V", "N"], ["V", "N"], ["D"]]
    predicted = [["N", "N", "D"], ["N", "N"], ["D"]]
    words = [["dog", "runs", "home"], ["runs", "dog"], ["the"]]
    evaluation = evaluate(gold, predicted, words=words, known={"dog", "the", "home"}.__contains__)
    assert evaluation.tokens == Share(3, 6)
    assert evaluation.accuracy == 0.5
    assert evaluation.sequences == Share(1, 3)
    assert evaluation.known == Share(3, 4)
    assert evaluation.unknown == Share(0, 2)
    assert evaluation.confusions() == [("V", "N", 2), ("N", "D", 1)]
    assert evaluation.phrases == Counts(0, 0, 0)
    assert evaluation.f1 == 0


def test_dictionary_survives_json():
    gold, predicted = [["B-x", "O", "B-x", "O"]], [["B-x", "B-y", "O", "O"]]
    result = evaluate(gold, predicted, words=[list("abcd")], known="ab".__contains__).as_dict()
    assert json.loads(json.dumps(result)) == result
    assert result == {
        "tokens": {"correct": 2, "total": 4, "accuracy": 0.5},
        "sequences": {"correct": 0, "total": 1, "accuracy": 0},
        "known": {"correct": 1, "total": 2, "accuracy": 0.5},
        "unknown": {"correct": 1, "total": 2, "accuracy": 0.5},
        "phrases": {"gold": 2, "found": 2, "correct": 1, "precision": 0.5, "recall": 0.5, "f1": 0.5},
        "types": {
            "x": {"gold": 2, "found": 1, "correct": 1, "precision": 1, "recall": 0.5, "f1": 2 / 3},
            "y": {"gold": 0, "found": 1, "correct": 0, "precision": 0, "recall": 0, "f1": 0},
        },
        "interval": None,
        "confusions": [["B-x", "O", 1], ["O", "B-y", 1]],
    }
    assert evaluate(gold, predicted).as_dict()["known"] is None


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([["O"]], []), {}, "There are 1 sequences of gold labels but 0 of predicted labels"),
        (([["O"], ["O", "O"]], [["O"], ["O"]]), {}, "Sequence 1 has 2 gold labels but 1 predicted labels"),
        (([["O"]], [["O"]]), {"words": [["a", "b"]], "known": bool}, "1 gold labels but 2 words"),
        (([["O"]], [["O"]]), {"words": [["a"]]}, "both `words` and `known`"),
        (([["O"]], [["O"]]), {"strict": "IOB"}, "Label scheme must be one of"),
    ],
)
def test_what_does_not_fit_together_is_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        evaluate(*arguments, **options)
