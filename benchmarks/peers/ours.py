"""structsvm itself: with the template of the task, or with the defaults of the preset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.peers.tasks import Task

IMPORTS = ("taggers.commands", "taggers.model")  # before the clock starts


def train(task: Task, options: dict[str, Any], source: Path, model: Path) -> None:
    from taggers import commands
    from taggers.options import RIVALS

    if options.get("preset"):
        chosen = RIVALS.get(task.preset, {})  # on Spanish, --dev prefers it to the default
        commands.train(task.preset, source, model, label=len(task.columns) - 1, **chosen)
        return
    settings: dict[str, Any] = {"template": template_file(task, model), "cutoff": task.cutoff, "C": 0.1}
    settings |= {"constrained": False, **options}  # as in the papers, and as CRFsuite
    commands.train("label", source, model, label=len(task.columns) - 1, **settings)


def template_file(task: Task, model: Path) -> str:
    path = model.with_suffix(".template")
    path.write_text(task.template, encoding="utf-8")
    return str(path)


def load(model: Path) -> Any:
    from taggers.model import TaggerModel

    return TaggerModel.load(model)


def label(task: Task, options: dict[str, Any], source: Path, model: Path, output: Path) -> None:
    from taggers import commands

    commands.tag(model, source, output)
