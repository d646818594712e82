"""Flags of commands, made from the tables of options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from structsvm.cli.errors import MOST, SEEDS, number, numbers_of
from structsvm.options import Option


def with_flags(command: Callable[..., None], options: Iterable[Option]) -> Callable[..., None]:
    """Return the command with a flag for each option instead of `**options`."""
    signature = inspect.signature(command, eval_str=True)
    fixed = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    flags = [
        inspect.Parameter(option.name, kind, default=None, annotation=_flag(option))
        for option in options
        if option.flag
    ]

    def run(**values: Any) -> None:
        command(**values)

    run.__doc__, run.__name__ = command.__doc__, command.__name__
    run.__signature__ = signature.replace(parameters=fixed[:4] + flags + fixed[4:])  # type: ignore[attr-defined]
    return run


def given(options: dict[str, Any]) -> dict[str, Any]:
    """The values of the flags; a repeatable flag that is absent is None."""
    values = {name: None if value == [] else value for name, value in options.items()}
    return values | {"label_weight": numbers_of(options["label_weight"], "--label-weight", "LABEL=FACTOR")}


def _flag(option: Option) -> Any:
    """The annotation from which typer builds a flag; an absent flag is None: the tagger chooses."""
    name: Any = str if option.type is object else option.type
    name = list[str] if option.repeatable else name
    told: dict[str, Any] = {"metavar": option.metavar, "help": option.help, "show_default": False}
    if option.initial is not None and option.type is not bool:
        several = isinstance(option.initial, tuple)
        told["show_default"] = ",".join(option.initial) if several else str(option.initial)
    if option.type not in (int, float):
        return Annotated[name | None, typer.Option(option.flag, **told)]
    high = SEEDS if option.name == "random_state" else min(option.most, MOST)
    return Annotated[name | None, number(option.flag, low=option.low or 0, high=high, **told)]
