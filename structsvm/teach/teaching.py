"""A session with its files: the model to write, exports, and the journals of colleagues."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from structsvm.files.atomic import atomic_write
from structsvm.files.errors import DataError
from structsvm.files.journal import read_journal
from structsvm.teach.answers import Agreement, Answer, Answers, agreement, merged
from structsvm.teach.session import Session


class Export(NamedTuple):
    """A format: its file extension, and a function from answers to (content, answers left out)."""

    ending: str
    write: Callable[[Sequence[Answer]], tuple[bytes, int]]


@dataclass
class Teaching:
    """A session with its files.

    exports: the formats by name. notes: sentences for the page. conflicts: answers that differ from a
    colleague's, as in `Session.doubts`.
    """

    session: Session
    output: Path
    exports: Mapping[str, Export]
    notes: list[str] = field(default_factory=list)
    conflicts: list[dict[str, Any]] = field(default_factory=list)

    def save(self) -> None:
        """Write the model, if it has learned anything."""
        if self.session.answers.n_given:
            self.session.save(self.output)

    def write(self, path: str | Path) -> tuple[int, int]:
        """Export in the format of the file extension; return the numbers of answers written and left out."""
        answers = self.session.answers.given()
        data, left_out = self._export(path).write(answers)
        with atomic_write(path) as out:
            out.write(data)
        return len(answers) - left_out, left_out

    def check_exports(self, paths: Sequence[str | Path]) -> None:
        """Raise an error for a file name without a format and if there are no answers; write nothing."""
        for path in paths:
            self._export(path)
        if paths and not self.session.answers.given():
            raise DataError(
                "no answers yet, so there is nothing to export; answer some questions without --export first",
                str(self.session.journal.path),
            )

    def _export(self, path: str | Path) -> Export:
        known = {f".{export.ending}": export for export in self.exports.values()}
        if Path(path).suffix not in known:
            raise ValueError(f"{path}: the name of an export must end in {' or '.join(known)}")
        return known[Path(path).suffix]

    def app(self) -> Any:
        """The page."""
        from structsvm.teach.app import TeachApp

        return TeachApp(
            self.session, title=f"{self.session.learner.task}: {self.output.stem}", exports=self.exports,
            save=self.save, notes=self.notes, conflicts=self.conflicts,
        )  # fmt: skip

    def merge(self, path: str | Path) -> None:
        """Add the new answers of a colleague, and report the agreement on the others."""
        learner = self.session.learner
        theirs, mine = Answers(learner.task), Answers(learner.task)
        theirs.load(read_journal(path), str(path), learner.valid)
        mine.current = {
            id: answer for id, answer in self.session.answers.current.items() if answer.why != "merge"
        }
        found = agreement(mine, theirs, learner.units, lambda unit: " ".join(learner.names_in([unit])))
        new = merged(self.session.answers, theirs)
        self.session.take([replace(answer, why="merge") for answer in new])
        self.notes.append(_sentence(os.path.basename(path), found, len(new)))
        self.conflicts += [
            {"id": one.id, "item": one.item, "value": one.value, "doubt": 0.0, "at": _places(one, two)}
            for one, two in found.conflicts
        ]


def start_teaching(
    session: Session, output: str | Path, exports: Mapping[str, Export], *, first: Sequence[Answer] = (),
    merge: Sequence[str | Path] = (),
) -> Teaching:  # fmt: skip
    """Begin with answers and the journals of colleagues; close the session if one of them is refused."""
    teaching = Teaching(session, Path(output), exports)
    try:
        session.take([answer for answer in first if answer.id not in session.answers.current])
        for other in merge:
            teaching.merge(other)
    except BaseException:
        session.close()
        raise
    return teaching


def default_journal(output: str | Path) -> Path:
    """The journal of a model, if no other is chosen."""
    return Path(output).with_suffix(".answers.jsonl")


def _places(one: Answer, two: Answer) -> list[int]:
    """Where two answers differ, if they consist of several decisions."""
    if not isinstance(one.value, list):
        return []
    return [at for at, (a, b) in enumerate(zip(one.value, two.value, strict=True)) if a != b]


def _sentence(name: str, found: Agreement, new: int) -> str:
    if not found.units:
        return f"{name}: {new} answers added; you have none in common"
    types = ", ".join(f"{type_} {kappa:.3f}" for type_, kappa in found.types.items() if type_)
    return (
        f"{name}: {new} answers added; on {found.items} in common, Cohen's kappa is {found.kappa:.3f} "
        f"({100 * found.observed:.1f}% of the decisions agree, {len(found.conflicts)} answers differ)"
        f"{'; by type: ' if types else ''}{types}"
    )
