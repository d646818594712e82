"""`structsvm teach`: from a file of sentences to a session, a page and a model file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from structsvm.files.atomic import atomic_write, check_output
from structsvm.files.journal import read_journal
from structsvm.teach.answers import Agreement, Answer, Answers, agreement, merged
from structsvm.teach.session import Session
from taggers.commands.training import check_saving
from taggers.teach.files import EXPORTS, SUFFIXES, export, read_answers, read_pool
from taggers.teach.learner import TagLearner


@dataclass
class Teaching:
    """A session with its files."""

    session: Session
    output: Path
    task: str
    notes: list[str]
    conflicts: list[dict[str, Any]]

    def save(self) -> None:
        """Write the model, if it has learned anything."""
        if self.session.answers.given():
            self.session.save(self.output)

    def export(self, answers: Sequence[Answer], format: str) -> tuple[bytes, str]:
        """A file with the answers, and its ending."""
        return export(answers, self.task, format)[0], SUFFIXES[format]

    def write(self, path: str | Path) -> tuple[int, int]:
        """Export to a file, in the format of its ending; the sentences that were written and left out."""
        formats = {f".{ending}": format for format, ending in SUFFIXES.items()}
        answers = self.session.answers.given()
        data, left_out = export(answers, self.task, formats.get(Path(path).suffix, "columns"))
        with atomic_write(path) as out:
            out.write(data)
        return len(answers) - left_out, left_out

    def app(self) -> Any:
        """The page."""
        from structsvm.teach.app import TeachApp

        return TeachApp(
            self.session, title=f"{self.task}: {self.output.stem}", export=self.export,
            formats=list(EXPORTS), save=self.save, notes=self.notes, conflicts=self.conflicts,
        )  # fmt: skip


def teach(
    task: str,
    file: str | Path,
    output: str | Path,
    *,
    labels: Sequence[str] = (),
    model: str | Path | None = None,
    begin: Sequence[str | Path] = (),
    merge: Sequence[str | Path] = (),
    journal: str | Path | None = None,
    annotator: str = "",
    random: float = 0.1,
    inputs: Sequence[int] | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
    **options: Any,
) -> Teaching:
    """Begin or continue a session; `options` are those of the tagger.

    labels: to begin with. model: to start from. begin: labelled files to learn first. merge: journals of
    colleagues. journal: by default the name of the model with the ending .answers.jsonl.
    """
    path = Path(output).with_suffix(".answers.jsonl") if journal is None else Path(journal)
    check_saving(output, [file, *begin, *merge, path], "float32", None, True)
    check_output(path, file, *begin, *merge)
    others = [_colleague(other, task) for other in merge]
    pool = read_pool(file, inputs=inputs, format=format, encoding=encoding)
    first = [
        answer
        for name in begin
        for answer in read_answers(name, task, inputs=inputs, format="auto", encoding=encoding)
    ]
    learner = TagLearner(task, model=model, pool=pool, **options)
    session = Session(learner, pool, path, by=annotator, names=labels, random=random)
    try:
        session.take([answer for answer in first if answer.id not in session.answers.current])
        teaching = Teaching(session, Path(output), task, [], [])
        for name, answers in zip(merge, others, strict=True):
            _merge(teaching, learner, os.path.basename(name), answers)
    except BaseException:
        session.close()
        raise
    return teaching


def _colleague(path: str | Path, task: str) -> Answers:
    answers = Answers(task)
    answers.load(read_journal(path), str(path))
    return answers


def _merge(teaching: Teaching, learner: TagLearner, name: str, theirs: Answers) -> None:
    """Take the answers of a colleague that are new, and note how far both agree on the others."""
    mine = Answers(teaching.task)
    mine.current = {
        id: answer for id, answer in teaching.session.answers.current.items() if answer.why != "merge"
    }
    found = agreement(mine, theirs, learner.units)
    new = merged(teaching.session.answers, theirs)
    teaching.session.take([replace(answer, why="merge") for answer in new])
    teaching.notes.append(_sentence(name, found, len(new)))
    teaching.conflicts += [
        {"id": one.id, "item": one.item, "value": one.value, "other": two.value, "doubt": 0.0, "at": [
            at for at, (a, b) in enumerate(zip(one.value, two.value, strict=True)) if a != b
        ]}
        for one, two in found.conflicts
    ]  # fmt: skip


def _sentence(name: str, found: Agreement, new: int) -> str:
    if not found.units:
        return f"{name}: {new} sentences added; you have none in common"
    return (
        f"{name}: {new} sentences added; on {found.items} in common, Cohen's kappa is {found.kappa:.3f} "
        f"({100 * found.observed:.1f}% of the tokens agree, {len(found.conflicts)} sentences differ)"
    )
