"""`structsvm teach`: from a file of sentences to a session, a page and a model file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from structsvm.files.atomic import check_output
from structsvm.files.journal import read_journal
from structsvm.teach.answers import Answers
from structsvm.teach.session import Session
from structsvm.teach.teaching import Export, Teaching, default_journal, start_teaching
from taggers.commands.training import check_saving
from taggers.teach.files import EXPORTS, SUFFIXES, export, read_answers, read_pool
from taggers.teach.learner import TagLearner
from taggers.weak.merging import merge_answers, write_merged


def teach(
    task: str,
    file: str | Path,
    output: str | Path,
    *,
    labels: Sequence[str] = (),
    model: str | Path | None = None,
    begin: Sequence[str | Path] = (),
    merge: Sequence[str | Path] = (),
    merged: str | Path | None = None,
    journal: str | Path | None = None,
    annotator: str = "",
    random: float = 0.1,
    inputs: Sequence[int | str] | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
    **options: Any,
) -> Teaching:
    """Begin or continue a session; `options` are those of the tagger.

    labels: the initial labels. model: the model to start from. begin: labelled files to learn first. merge:
    journals of colleagues. merged: a file for the labels of all annotators together, with confidences.
    journal: by default the name of the model with the extension .answers.jsonl.
    """
    path = default_journal(output) if journal is None else Path(journal)
    check_saving(output, [file, *begin, *merge, path])
    check_output(path, file, *begin, *merge)
    if merged is not None:
        if not merge:
            raise ValueError("--merged needs the journals of colleagues; add --merge")
        check_output(merged, file, *begin, *merge, path, output)
    pool = read_pool(file, inputs=inputs, format=format, encoding=encoding)
    first = [
        answer
        for name in begin
        for answer in read_answers(name, task, inputs=inputs, format="auto", encoding=encoding)
    ]
    learner = TagLearner(task, model=model, pool=pool, **options)
    exports = {name: Export(SUFFIXES[name], partial(export, task=task, format=name)) for name in EXPORTS}
    session = Session(learner, pool, path, by=annotator, names=labels, random=random)
    teaching = start_teaching(session, output, exports, first=first, merge=merge)
    if merged is not None:
        try:
            _write_merged(merged, teaching, merge)
        except BaseException:
            session.close()
            raise
    return teaching


def _write_merged(path: str | Path, teaching: Teaching, merge: Sequence[str | Path]) -> None:
    """Merge one's own answers with those of colleagues."""
    learner = teaching.session.learner
    journals = {"you": [one for one in teaching.session.answers.given() if one.why != "merge"]}
    for name in merge:
        theirs = Answers(learner.task)
        theirs.load(read_journal(name), str(name), learner.valid)
        journals[str(name)] = theirs.given()
    given = {name: answers for name, answers in journals.items() if answers}
    if not given:
        raise ValueError("--merged found no answers in the journals; label some sentences first")
    X, consensus = merge_answers(given)
    write_merged(path, X, consensus)
    teaching.notes.append(f"{path}: {len(X)} sentences, merged")
