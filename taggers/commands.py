"""What the commands of the command line do, as functions; `structsvm.cli.app` only reads their options."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from structsvm.files.errors import DataError
from taggers.bundled import find_model
from taggers.conlleval import Evaluation
from taggers.conlleval import evaluate as compare
from taggers.features.feature_names import feature_names
from taggers.formats._columns import Columns
from taggers.formats.files import (
    CHUNK,
    atomic_write,
    check_output,
    encoded,
    in_misc,
    is_model,
    read_all,
    read_columns,
    write,
)
from taggers.formats.layout import (
    check_fit,
    compared_names,
    format_for,
    inputs_of,
    label_of,
    names_of,
    outputs_of,
)
from taggers.labels import schemes
from taggers.labels.checks import check_gold, warn_of_gold
from taggers.model import TaggerModel
from taggers.train_file import TASKS, train

if TYPE_CHECKING:
    from taggers.report import Answers

__all__ = ["TASKS", "convert", "evaluate", "inspect", "tag", "train"]


def tag(
    model: TaggerModel | str | Path,
    file: str | Path = "-",
    output: str | Path = "-",
    *,
    nbest: int = 1,
    scores: bool = False,
    replace: bool = False,
    label: int | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
    jobs: int = 1,
) -> int:
    """Write the file with a label for each token, every other byte as it was; return the number of tokens.

    The labels are appended as a new column (those of several parts, as en-pos has, as several); in CoNLL-U
    and CRFsuite's format, and with `replace`, they take the place of the label column. scores appends each
    label's margin. nbest appends so many columns; with
    scores, the score of the labelling (of the whole sentence) is behind each of them.
    """
    check_output(output, file, None if isinstance(model, TaggerModel) else model)
    model = model if isinstance(model, TaggerModel) else TaggerModel.load(model)
    name = "<stdin>" if str(file) == "-" else str(file)
    if nbest > 1 and (replace or model.inference == "greedy"):
        raise ValueError("n-best labels need a model with exact inference, and do not go with --replace")
    parts: list[str] = []  # of labels, for the columns that are written over

    def wanted(kind: str) -> list[int]:
        replaced = replace or kind in ("conllu", "crfsuite")
        if replaced and nbest > 1:
            raise DataError(f"n-best labels are appended as columns, and {kind} has no room for them", name)
        if scores and kind == "crfsuite":
            raise DataError("scores are appended, and would be features in CRFsuite's format", name)
        found = outputs_of(model, kind, name, replace=replace, chosen=label)
        parts[:] = [part for _, part in found]
        return inputs_of(model, kind, name) + [column for column, _ in found]

    def work(columns: Columns) -> bytes:
        return _tagged(model, columns, nbest, scores, parts)

    size = CHUNK if jobs == 1 else CHUNK // 4
    kind = format_for(model, format)
    plain = model.files.get("format") == "text"
    chunks = read_columns(file, kind, wanted=wanted, encoding=encoding, chunk_size=size, plain=plain)
    tokens = 0

    def counted() -> Iterator[Columns]:
        nonlocal tokens
        for columns in chunks:
            if not tokens:
                check_fit(model, columns, format)
            tokens += columns.n_tokens
            yield columns

    with atomic_write(output) as out:
        for data in encoded(_in_order(work, counted(), jobs), encoding, name):
            out.write(data)
    return tokens


def _in_order(work: Any, items: Iterable[Any], jobs: int) -> Iterator[bytes]:
    """The results in order, a few items at a time: memory does not grow with the file."""
    if jobs == 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(jobs) as pool:
        waiting: deque[Future[bytes]] = deque()
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _tagged(model: TaggerModel, columns: Columns, nbest: int, scores: bool, parts: list[str]) -> bytes:
    if nbest > 1:
        return _n_best(model, columns, nbest, scores)
    margins = np.zeros(columns.n_tokens, np.float32) if scores else None
    ids = model.tag(columns, margins=margins)
    shown = None if margins is None else margins.astype(np.float64)[:, None]
    first = columns.width - len(parts)
    steps: list[tuple[int | None, list[str]]]
    steps = [(place, names_of(model, part)) for place, part in enumerate(parts, first)]
    steps = steps or [(None, names_of(model, part)) for part in model.parts or [""]]  # a column more for each
    for place, names in steps[:-1]:
        data = write(columns, ids, names, column=place)
        columns = Columns(
            data, columns.wanted, format=columns.format, separator=columns.separator,
            first_line=columns.first_line,
        )  # fmt: skip
    place, names = steps[-1]
    data = write(columns, ids, names, column=place, scores=shown)
    return in_misc(data) if scores and columns.format == "conllu" else data


def _n_best(model: TaggerModel, columns: Columns, n: int, scores: bool) -> bytes:
    features = model.features(columns)
    number = {name: k for k, name in enumerate(model.names)}
    ids = np.full((n, columns.n_tokens), -1, np.int32)
    totals = np.full((n, columns.n_tokens, 1), -np.inf)
    for sentence, (start, stop) in enumerate(pairwise(columns.sentence_ptr.tolist())):
        for k, (score, labels) in enumerate(model.n_best(features, sentence, n)):
            ids[k, start:stop] = [number[label] for label in labels]
            totals[k, start:stop] = score
    for row, total in zip(ids, totals, strict=True):
        data = write(columns, row, model.names, scores=total if scores else None)
        columns = Columns(data, (0,), separator=columns.separator, first_line=columns.first_line)
    return columns.data


def evaluate(
    model: TaggerModel | str | Path | None,
    file: str | Path,
    *,
    label: int | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
    strict: str | None = None,
    jobs: int = 1,
) -> Evaluation:
    """Compare a model's labels with the gold ones; without a model, the last column with the one before."""
    if strict is not None:
        schemes.check(strict)
    if model is None:
        if label is not None:
            raise ValueError("--column needs a model; without one, the last two columns are compared")
        return _compared(file, format, encoding, strict)
    model = model if isinstance(model, TaggerModel) else TaggerModel.load(model)
    columns = _labelled(model, file, label, format, encoding)
    return _scored(model, columns, _predicted(model, columns, jobs=jobs), strict)


def _labelled(
    model: TaggerModel,
    file: str | Path,
    label: int | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
) -> Columns:
    """The inputs of a model and, as the last column, the gold labels."""
    name = str(file)

    def wanted(kind: str) -> list[int]:
        return [*inputs_of(model, kind, name), label_of(model, kind, name, label)]

    kind = format_for(model, format)
    (columns,) = read_columns(file, kind, wanted=wanted, encoding=encoding, chunk_size=None)
    if columns.format == "crfsuite":
        check_fit(model, columns, format)
    return columns


def _predicted(model: TaggerModel, columns: Columns, **options: Any) -> list[list[str]]:
    """The labels that a model predicts for a labelled file; options are those of `TaggerModel.tag`."""
    gold, names = columns.sentences(columns.width - 1), compared_names(model, columns)
    check_gold(gold, names, columns)
    ids, ptr = model.tag(columns, **options).tolist(), columns.sentence_ptr.tolist()
    warn_of_gold(gold, names, model.outer, columns.name, "the model's")
    return [[names[k] for k in ids[a:b]] for a, b in pairwise(ptr)]


def _scored(
    model: TaggerModel, columns: Columns, predicted: list[list[str]], strict: str | None = None
) -> Evaluation:
    gold = columns.sentences(columns.width - 1)
    if model.outer != "none" or model.template is None:
        return compare(gold, predicted, strict=strict)
    words = columns.sentences(0)
    known = model.knows(columns.texts(0))
    return compare(gold, predicted, words=words, known=known.__contains__, strict=strict)


def _compared(file: str | Path, format: str, encoding: str, strict: str | None) -> Evaluation:
    """The last column compared with the one before."""
    if is_model(file):
        raise ValueError(f"{file} is a model: give a labelled file too, as in structsvm evaluate MODEL FILE")
    columns = read_all(file, format, wanted=(-1,), encoding=encoding)
    help = "label the file first, or give a model: structsvm evaluate MODEL FILE"
    if columns.format != "columns":
        raise DataError(f"{columns.format} has no column of predicted labels; {help}", columns.name)
    if columns.n_columns < 2:
        raise DataError(f"one column, where gold and predicted labels are needed; {help}", columns.name)
    columns = Columns(columns.data, (-2, -1), format=columns.format, separator=columns.separator)
    gold, predicted = columns.sentences(0), columns.sentences(1)
    if not {name for labels in gold for name in labels} & {name for labels in predicted for name in labels}:
        raise DataError(
            "the last two columns have no label in common, so they are not gold and predicted labels; "
            + help,
            str(file),
        )
    names = sorted({name for labels in predicted for name in labels})
    warn_of_gold(gold, names, schemes.detect(predicted), columns.name, "the predicted ones")
    return compare(gold, predicted, strict=strict)


def answered(model: TaggerModel, file: str | Path) -> Answers:
    """What a model predicts for a labelled file, with gold labels, margins and scores."""
    from taggers.report import Answers

    columns = _labelled(model, file)
    margins = np.zeros(columns.n_tokens, np.float32)
    predicted = _predicted(model, columns, margins=margins)
    return Answers(
        words=None if model.template is None else columns.sentences(0),
        gold=columns.sentences(columns.width - 1),
        predicted=predicted,
        margins=margins,
        lines=[columns.line(token) for token in columns.sentence_ptr[:-1].tolist()],
        evaluation=_scored(model, columns, predicted),
        phrases=model.outer != "none",
    )


def inspect(
    model: TaggerModel | str | Path,
    *,
    top: int = 20,
    names: str | Path | None = None,
    html: str | Path | None = None,
    test: str | Path | None = None,
) -> dict[str, Any]:
    """What a model holds: labels, sizes, its training, the strongest transitions and features.

    Features are stored as hashes, unless they were trained with `keep_names`; `names` is a file (say, the
    training file) to name them by. html: a page to write, with the errors on the file `test` if there is one.
    """
    if html is not None:
        check_output(html, names, test, None if isinstance(model, TaggerModel) else model)
    path = None if isinstance(model, TaggerModel) else find_model(model)
    model = model if isinstance(model, TaggerModel) else TaggerModel.load(model)
    problem = model.problem()
    named = model.feature_names or [None] * len(model.table)
    if names is not None:
        format = model.files.get("format", "columns")
        wanted = inputs_of(model, format, str(names)) or [0]
        named = feature_names(model, read_all(names, format, wanted=wanted), named)
    if html is not None:
        from taggers.report import html_report

        answers = None if test is None else answered(model, test)
        page = html_report(model, title=Path(path or "model").name, names=named, answers=answers, top=top)
        with atomic_write(html) as out:
            out.write(page.encode())
    n = len(model.labels)
    history = model.weights.kept(np.arange(len(model.weights)) < min(n + 1, problem.history))
    weights = model.weights.since(problem.history)
    before = [*model.labels, "<start>"]
    return {
        "file": None if path is None else str(path),
        "bytes": None if path is None else Path(path).stat().st_size,
        "labels": model.names, "scheme": model.outer, "learned_as": model.inner,
        "constrained": model.constrained,
        "inference": model.inference, "order": model.order, "features": len(model.table),
        "weights": len(model.weights.cells),
        "template": None if model.template is None else model.template.text.split("\n"),
        "training_state": model.state is not None, "columns": model.files, "training": model.report,
        "transitions": [(before[row], model.labels[y], w) for row, y, w in history.strongest(top)],
        "strongest": [
            (named[row] or f"#{row}", model.labels[y], w) for row, y, w in weights.strongest(top)
        ],
    }  # fmt: skip


def convert(
    file: str | Path, output: str | Path = "-", *, to: str, source: str | None = None, label: int = -1,
    format: str = "auto", encoding: str = "utf-8",
) -> int:  # fmt: skip
    """Write the file with its labels in another scheme, and return how many were out of place."""
    for scheme in (to, source or to):
        schemes.check(scheme)
        if scheme == "none":
            raise ValueError("labels can be converted from and to IOB1, IOB2, IOBES and BILUO")
    check_output(output, file)
    columns = read_all(file, format, wanted=(label,), encoding=encoding)
    sentences = columns.sentences(0)
    source = source or schemes.detect(sentences)
    if source == "none":
        raise DataError(
            "the labels are of no scheme that could be converted; choose another column", columns.name
        )
    names: dict[str, int] = {}
    ids = []
    repaired = 0
    for labels, start in zip(sentences, columns.sentence_ptr.tolist(), strict=False):
        try:
            repaired += len(schemes.violations(labels, source))
            ids += [names.setdefault(name, len(names)) for name in schemes.convert(labels, source, to)]
        except ValueError as error:
            raise DataError(str(error), columns.name, columns.line(start)) from None
    data = write(columns, np.array(ids, np.int32), list(names), column=0)
    with atomic_write(output) as out:
        out.write(b"".join(encoded([data], encoding, columns.name)))
    return repaired
