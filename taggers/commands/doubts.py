"""`structsvm doubts`: the labels of a file that are probably wrong."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from structsvm.files.atomic import atomic_write, check_output
from structsvm.files.errors import DataError
from structsvm.teach.answers import Answer, Answers, item_id
from structsvm.validation import check_choice
from taggers.formats._columns import Columns
from taggers.labels import schemes
from taggers.labels.files import read_labelled
from taggers.labels.label_encoding import split_by_sentence
from taggers.tagger import TASKS
from taggers.weak.doubts import CHEAP, FOLDS, Doubt, find_label_errors

CHOICES = ("auto", "pos", "chunk", "ner", "label")


@dataclass(frozen=True)
class Doubts:
    """The doubts about a file, the most doubtful first, and the columns of the file."""

    found: list[Doubt]
    columns: Columns

    def records(self) -> list[dict[str, Any]]:
        """Each doubt as an object, with the line of its first token."""
        starts = self.columns.sentence_ptr.tolist()
        return [
            {"line": self.columns.line(starts[one.sentence] + one.start), **asdict(one)} for one in self.found
        ]


def doubts(
    file: str | Path,
    *,
    task: str = "auto",
    folds: int = FOLDS,
    random_state: int = 0,
    queue: str | Path | None = None,
    inputs: Sequence[int | str] | None = None,
    label: int | str | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
    told: Callable[[int], Any] | None = None,
) -> Doubts:
    """Find labels that are probably wrong; see `taggers.weak.find_label_errors`.

    Parameters
    ----------
    queue
        A journal to write, with the suggested labels of all doubtful sentences. `structsvm teach` shows with
        --merge where they differ from the file.
    """
    check_choice(task=(task, CHOICES))
    if queue is not None:
        if str(queue) == "-":
            raise ValueError("--queue needs the name of a file, which structsvm teach can open")
        check_output(queue, file)
    data = read_labelled(file, format=format, encoding=encoding, inputs=inputs, labels=[label])
    if len(data.gold.names) < 2:
        raise DataError(
            "all labels are the same, so none can be wrong; choose another --column", data.columns.name
        )
    tagger = None if task == "auto" else TASKS[task](**CHEAP)
    found = find_label_errors(
        data.columns, data.gold, tagger=tagger, folds=folds, random_state=random_state, callback=told
    )
    if queue is not None:
        _write_queue(queue, data, found)
    return Doubts(found, data.columns)


def _write_queue(path: str | Path, data: Any, found: Sequence[Doubt]) -> None:
    """Write the suggested labels of doubtful sentences as the answers of a colleague, most doubtful first."""
    gold, columns = data.gold, data.columns
    given = (
        gold.lists()
        if gold.partial is not None
        else split_by_sentence(gold.ids, [*gold.names, None], gold.sentence_ptr)
    )
    scheme = schemes.detect([one for one in labels if one is not None] for labels in given)
    parts = [columns.sentences(column) for column in range(data.place)]
    suggested: dict[int, list[Any]] = {}
    for one in found:
        labels = suggested.setdefault(one.sentence, list(given[one.sentence]))
        labels[one.start : one.stop] = one.suggested
    task = "ner" if scheme != "none" else "pos"
    now = round(time.time(), 3)
    lines: list[dict[str, Any]] = [Answers(task).first()]
    for sentence, labels in suggested.items():
        words, *more = [part[sentence] for part in parts]
        item = {"tokens": words, "columns": more} if more else {"tokens": words}
        if scheme not in ("none", "IOB2") and None not in labels:
            labels = list(schemes.convert(labels, scheme, "IOB2"))
        lines.append(Answer(item_id(item), item, labels, None, "doubts", "structsvm doubts", now).record(""))
    with atomic_write(path) as out:
        for line in lines:
            out.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
