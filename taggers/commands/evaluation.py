"""`structsvm evaluate`: compare predicted labels with gold labels."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from structsvm.files.errors import DataError
from structsvm.options import check_rules
from taggers.commands.matching import (
    check_fit,
    chosen_column,
    gold_labels,
    gold_names,
    input_columns,
    label_column,
    open_inputs,
    own_format,
)
from taggers.commands.pipelines import evaluate_columns
from taggers.conflicts import EVALUATE, LAYERS, MODEL
from taggers.conlleval import Evaluation
from taggers.conlleval import evaluate as compare
from taggers.formats import AUTO
from taggers.formats._columns import Columns
from taggers.formats.conllu import COLUMN
from taggers.formats.conllu import FORMAT as CONLLU
from taggers.formats.conllu_checks import check_conllu
from taggers.formats.files import Opened, open_columns
from taggers.labels import schemes
from taggers.labels.checks import check_gold, check_spans, mark_phrases, warn_of_gold, warn_of_unknown
from taggers.metrics import Reliability, reliability
from taggers.model import TaggerModel
from taggers.pipeline import Pipeline, open_model
from taggers.uncertainty import Comparison, interval, sentence_counts
from taggers.uncertainty import compare as compare_counts

if TYPE_CHECKING:
    from taggers.report import Answers

NO_MODEL = "label the file first, or use a model: structsvm evaluate MODEL FILE"


def evaluate(
    model: TaggerModel | str | Path | None,
    file: str | Path,
    *,
    label: int | str | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
    strict: str | None = None,
    bias: dict[str, float] | None = None,
    jobs: int = 1,
) -> Evaluation:
    """Compare a model's labels with the gold labels of a file.

    Without a model, compare the last column of the file with the one before it.

    Parameters
    ----------
    label
        The column of the gold labels, by default that of the training file.
    strict
        Count only phrases whose labels are in place in this scheme.
    bias
        Constants to add to the scores of labels, as in `tag`.
    """
    if strict is not None:
        schemes.check(strict)
    check_rules(EVALUATE, model=model, label=label, bias=bias)
    if model is None:
        return _compare_columns(file, format, encoding, strict)
    model = model if isinstance(model, TaggerModel) else TaggerModel.load(model)
    model = model.biased(bias) if bias else model
    columns = _read_labelled(model, file, label, format, encoding)
    return _score(model, columns, _predict(model, columns, jobs=jobs), strict)


def evaluate_any(
    model: TaggerModel | Pipeline | str | Path | None, file: str | Path, **options: Any
) -> Evaluation | dict[str, Evaluation]:
    """Evaluate a model of one column or, column by column, of several columns of CoNLL-U."""
    model = None if model is None else open_model(model)
    if not isinstance(model, Pipeline):
        several = False
        if model is not None:
            label = options.get("label")
            options["label"] = chosen_column(model, label)
            several = len(model.parts) > 1 and (own_format(model) is CONLLU or label is not None)
        if not several or options.get("label") is not None:
            return evaluate(model, file, **options)
    assert model is not None
    given = {name: options.pop(name, None) for name in ("label", "strict", "bias")}
    check_rules(EVALUATE, model=model, **given, **{MODEL: LAYERS})
    if options.pop("format", "auto") not in ("auto", "conllu"):
        raise ValueError("a model of several columns needs a CoNLL-U file for evaluation")
    return evaluate_columns(model, file, **options)


def answered(model: TaggerModel, file: str | Path) -> Answers:
    """Return a model's predictions for a labelled file, with gold labels, margins and scores."""
    from taggers.report import Answers

    columns = _read_labelled(model, file)
    gold = gold_labels(model, columns)
    margins = np.zeros(columns.n_tokens, np.float32)
    predicted = _predict(model, columns, margins=margins)
    return Answers(
        words=None if model.space.template is None else columns.sentences(0),
        gold=gold,
        predicted=predicted,
        margins=margins,
        lines=[columns.line(token) for token in columns.sentence_ptr[:-1].tolist()],
        evaluation=_score(model, columns, predicted),
        phrases=model.labels.outer != "none",
        reliability=_reliability(model, columns, gold) if model.probable else (),
    )


def _reliability(model: TaggerModel, columns: Columns, gold: list[list[str]]) -> list[Reliability]:
    """Compare the probabilities of the most probable labels with how often they are right."""
    marginals, missing = model.marginals(columns), columns.format.missing(columns.wanted[-1])
    best = [model.names[k] for k in marginals.argmax(axis=1)]
    right = list(chain.from_iterable(gold))
    known = np.array([label != missing for label in right], bool)
    correct = np.array([a == b for a, b in zip(best, right, strict=True)], bool)
    return reliability(marginals.max(axis=1, initial=0)[known], correct[known])


def _read_labelled(
    model: TaggerModel,
    file: str | Path,
    label: int | str | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
) -> Columns:
    """Read the model's input columns and, as the last column, the gold labels."""
    with open_inputs(model, file, format, encoding=encoding) as opened:
        inputs = input_columns(model, opened)
        columns = opened.read([*inputs, label_column(model, opened, label)])
    if columns.format.ready and format == AUTO:
        check_fit(model, columns)
    if columns.format is CONLLU and columns.wanted[-1] == COLUMN["feats"]:
        check_conllu(columns.data, columns.name)
    return columns


def _predict(model: TaggerModel, columns: Columns, **options: Any) -> list[list[str]]:
    """Return the model's labels for a labelled file; `options` are those of `TaggerModel.tag`."""
    gold, names = gold_labels(model, columns), gold_names(model, columns)
    check_spans(columns, set(chain.from_iterable(gold)))
    check_gold(gold, names, columns)
    ids, ptr = model.tag(columns, **options).tolist(), columns.sentence_ptr.tolist()
    warn_of_gold(gold, names, model.labels.outer, columns.name, "the model's")
    warn_of_unknown(columns, columns.width - 1, names, phrases=model.labels.outer != "none")
    return [[names[k] for k in ids[a:b]] for a, b in pairwise(ptr)]


def _score(
    model: TaggerModel, columns: Columns, predicted: list[list[str]], strict: str | None = None
) -> Evaluation:
    words: dict[str, Any] = {}
    if model.labels.outer == "none" and model.space.template is not None:
        words = {
            "words": _labelled(model, columns, columns.sentences(0)),
            "known": model.space.knows(columns.texts(0)).__contains__,
        }
    gold = _labelled(model, columns, gold_labels(model, columns))
    return _compare(gold, _labelled(model, columns, predicted), columns, strict, **words)


def _labelled(model: TaggerModel, columns: Columns, rows: list[list[str]]) -> list[list[str]]:
    """The values of the tokens that have a gold label; only these count."""
    missing = columns.format.missing(columns.wanted[-1])
    if missing is None:
        return rows
    pairs = zip(rows, gold_labels(model, columns), strict=True)
    return [[value for value, label in zip(*pair, strict=True) if label != missing] for pair in pairs]


def _compare_columns(file: str | Path, format: str, encoding: str, strict: str | None) -> Evaluation:
    """Compare the last column with the one before it."""
    try:
        with open_columns(file, format, encoding=encoding) as opened:
            _check_predicted(opened)
            columns = opened.read([-2, -1])
    except DataError:
        if _is_model(file):
            raise ValueError(
                f"{file} is a model; specify a labelled file too: structsvm evaluate MODEL FILE"
            ) from None
        raise
    gold, predicted = columns.labels(0), columns.labels(1)
    names = sorted(set(chain.from_iterable(predicted)))
    if any(map(schemes.marks_phrase, names)):
        usual = schemes.typed(set(chain.from_iterable(gold)))
        gold = [[usual.get(label, label) for label in row] for row in gold]
    if set(chain.from_iterable(gold)).isdisjoint(names):
        raise DataError(
            "the last two columns have no label in common, so they are not gold and predicted labels; "
            + NO_MODEL,
            columns.name,
        )
    warn_of_gold(gold, names, schemes.detect(predicted), columns.name, "the predicted ones")
    return _compare(gold, predicted, columns, strict)


def _check_predicted(opened: Opened) -> None:
    """Raise DataError for a file that cannot have a column of predicted labels."""
    if opened.format.replaces:
        what = f"{opened.format.title} has no column of predicted labels; {NO_MODEL}"
        raise DataError(what, opened.name)
    if opened.n_columns < 2:
        what = f"has only one column, so it has no predicted labels; {NO_MODEL}"
        raise DataError(what, opened.name)


def _is_model(path: str | Path) -> bool:
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return file.read(4) == b"PK\3\4"
    return False


def _compare(
    gold: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    columns: Columns,
    strict: str | None,
    **words: Any,
) -> Evaluation:
    """Compare, and name the first line with a label that the strict scheme does not have."""
    if strict is not None:
        starts = columns.sentence_ptr.tolist()
        for labels, others, start in zip(gold, predicted, starts, strict=False):
            for sentence in (labels, others):
                try:
                    schemes.violations(sentence, strict)
                except ValueError as error:
                    what = f"{str(error).rstrip('.')}; choose another scheme for --strict"
                    raise DataError(what, columns.name, columns.line(start)) from None
    result = compare(gold, predicted, strict=strict, **words)
    if not mark_phrases(set(chain.from_iterable(gold))):  # an -LRB- among parts of speech
        result = replace(result, types={})
    if strict is not None:
        return result
    counts = sentence_counts(gold, predicted, spans=bool(result.types))
    return replace(result, interval=interval(counts))


def compare_models(
    first: TaggerModel | str | Path,
    second: TaggerModel | str | Path,
    file: str | Path,
    *,
    label: int | str | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
    jobs: int = 1,
) -> Comparison:
    """Compare two models on a labelled file: whether their scores differ by more than chance."""
    counts, spans = [], []
    answers = []
    for model in (first, second):
        one = open_model(model)
        if isinstance(one, Pipeline) or len(one.parts) > 1:
            raise ValueError("compare needs models of one column, as train pos, chunk, ner and label write")
        columns = _read_labelled(one, file, label, format, encoding)
        predicted = _predict(one, columns, jobs=jobs)
        gold = _labelled(one, columns, gold_labels(one, columns))
        answers.append((gold, _labelled(one, columns, predicted)))
        spans.append(mark_phrases(set(chain.from_iterable(answers[-1][0]))))
    for gold, predicted in answers:
        counts.append(sentence_counts(gold, predicted, spans=all(spans)))
    return compare_counts(*counts, measure="F1" if all(spans) else "accuracy")
