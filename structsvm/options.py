"""Options of estimators and commands: each stands once, for constructor, checks, flags, files and docs.

A table of options is a class. `with_options` makes the constructor and the docstring from it:

    @with_options
    class Machine:
        C: float = option(default=1.0, help="The C of the SVM.", above=0)

`Machine.OPTIONS` maps the names to `Option` objects; a subclass can add options or change them. The table
also says which options exclude or need each other, so that a refusal has one wording, in Python and on the
command line.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, TypeVar, dataclass_transform

TYPES = {"bool": bool, "int": int, "float": float, "str": str, "dict": dict}
KINDS = {bool: "True or False", int: "an integer", float: "a number", str: "a string", dict: "a dict"}
MOST = 10**9  # the largest integer of options without a bound of their own
LARGEST = 1e100  # the largest number of such options: squares must stay finite
REQUIRED = inspect.Parameter.empty  # as a default: the caller must give a value
GIVEN = ()  # in `needs`: any value, if it is given
SOURCES = {"memory": "", "disk": "--memory", "cluster": "--cluster"}  # of training data, and their flags

Class = TypeVar("Class", bound=type)
Value = Any  # of an option; its `type` says which


@dataclass(frozen=True)
class Option:
    """One option of an estimator or a command.

    Parameters
    ----------
    default, help
        The usual value, or `REQUIRED`; and what the option means.
    defaults
        Defaults of single kinds, such as tasks or algorithms. The constructor leaves such options at None,
        and the estimator chooses. None if all kinds have the same default.
    low, above, high
        The smallest allowed number, the number that values must exceed, and the largest allowed number.
    choices
        The allowed strings; for a number, the strings and numbers that are allowed too.
    optional
        Whether None is allowed although it is not the default.
    valid
        A function of name and value that checks instead: it raises ValueError.
    flag, metavar, repeatable
        The name on the command line ("" for options of Python only), the name of its value, and whether
        it can be given several times.
    kept, fixed_on_resume
        Whether model files contain it, and whether resumed training must use the same value.
    needs
        Without one of these, the option has no effect: names with the values that are needed, or `GIVEN`.
    excludes
        Options that cannot be combined with it: names with the values that are excluded, or `GIVEN`.
    sources
        The places of training data for which it works.
    search
        The values that `tune` tries besides the default; one that starts with + extends the default.
    kw_only
        Whether the constructor accepts it only by name.
    name, type
        Name and type of the attribute; `with_options` sets them.
    """

    default: Value
    help: str
    defaults: Mapping[str, Value] | None = None
    low: int | None = None
    above: float | None = None
    high: float | None = None
    choices: tuple[str | float, ...] = ()
    optional: bool = False
    valid: Callable[[str, Value], None] | None = None
    flag: str = ""
    metavar: str | None = None
    repeatable: bool = False
    kept: bool = True
    fixed_on_resume: bool = False
    needs: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    excludes: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    sources: tuple[str, ...] = tuple(SOURCES)
    search: tuple[Value, ...] = ()
    kw_only: bool = True
    name: str = ""
    type: type = object

    @property
    def initial(self) -> Value:
        """The default of the constructor; None means that the estimator chooses."""
        return self.default if self.defaults is None else None

    def value(self, *kinds: str) -> Value:
        """The default for the first of these kinds that has its own."""
        own = self.defaults or {}
        return next((own[kind] for kind in kinds if kind in own), self.default)

    def works(self, settings: Mapping[str, Value], given: Iterable[str]) -> bool:
        """Whether the option has an effect with these settings, or this cannot be known from them."""
        return (
            not self.needs
            or not self.needs.keys() <= settings.keys()
            or any(
                settings[name] in values if values else name in given for name, values in self.needs.items()
            )
        )

    def fits(self, value: Value) -> bool:
        """Whether a value has the right type; a NumPy scalar counts as the number that it holds."""
        value = _plain(value)
        if isinstance(value, bool):
            return self.type in (bool, object)
        return isinstance(value, (int, float) if self.type is float else self.type)

    def check(self, value: Value) -> None:
        """Raise ValueError for a value of the wrong type or out of range."""
        if value is None and (self.optional or self.initial is None):
            return
        if isinstance(value, str | float) and value in self.choices:
            return
        if self.valid is not None:
            self.valid(self.name, value)
        elif self.type in (int, float):
            self._check_number(value)
        elif self.choices:
            raise ValueError(f"{self.name} must be one of {', '.join(map(str, self.choices))}, got {value!r}")
        elif not self.fits(value):
            raise ValueError(f"{self.name} must be {KINDS[self.type]}, got {value!r}")

    def _check_number(self, value: Value) -> None:
        number = _plain(value)
        right = isinstance(number, Integral if self.type is int else Real) and not isinstance(number, bool)
        low = self.above if self.low is None else self.low
        if not right or (low is not None and not (number > low if self.low is None else number >= low)):
            bound = "" if low is None else f" above {low:g}" if self.low is None else f" of at least {low:,}"
            other = "".join(f" or {choice!r}" for choice in self.choices)
            raise ValueError(f"{self.name} must be {KINDS[self.type]}{bound}{other}, got {value!r}")
        if not number <= self.most:
            most = f"{self.most:,}" if isinstance(self.most, int) else f"{self.most:g}"
            raise ValueError(f"{self.name} must be at most {most}, got {value!r}")

    @property
    def most(self) -> float:
        """The largest allowed number."""
        return self.high if self.high is not None else MOST if self.type is int else LARGEST


def option(*, help: str = "", default: Any = REQUIRED, **fields: Any) -> Any:
    """Define an option in the body of a class; see `Option` for the fields."""
    return Option(default, help, **fields)


@dataclass_transform(kw_only_default=True, field_specifiers=(option,))
def with_options(cls: Class) -> Class:
    """Class decorator that makes the constructor and the docstring from the options, own and inherited.

    The constructor stores the values and then calls `__post_init__`, if the class has it.
    """
    table: dict[str, Option] = {}
    for base in reversed(cls.__mro__):
        table |= vars(base).get("OPTIONS", {})
    for name, annotation in inspect.get_annotations(cls).items():
        found = vars(cls).get(name)
        if isinstance(found, Option):
            text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
            kind = TYPES.get(re.split(r"\W", text)[0], object)
            table[name] = replace(found, name=name, type=kind)
            if table[name].initial is REQUIRED:
                delattr(cls, name)
            else:
                setattr(cls, name, table[name].initial)
    kinds = {True: inspect.Parameter.KEYWORD_ONLY, False: inspect.Parameter.POSITIONAL_OR_KEYWORD}
    parameters = [
        inspect.Parameter(one.name, kinds[one.kw_only], default=one.initial)
        for one in sorted(table.values(), key=lambda one: one.kw_only)
    ]
    signature = inspect.Signature(parameters)

    def __init__(self: Any, *arguments: Any, **values: Any) -> None:
        call = signature.bind(*arguments, **values)
        call.apply_defaults()
        vars(self).update(call.arguments)
        if hasattr(self, "__post_init__"):
            self.__post_init__()

    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    __init__.__signature__ = inspect.Signature([own, *parameters])  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    cls.__init__ = __init__  # type: ignore[misc]
    cls.OPTIONS = table  # type: ignore[attr-defined]
    lines = ["Parameters", "----------"]
    for one in table.values():
        lines += [f"{one.name} : {_described(one)}", f"    {one.help}"]
    cls.__doc__ = "\n    ".join([f"{(cls.__doc__ or '').rstrip()}\n", *lines]) + "\n"
    return cls


def check_options(owner: Any, *, unused: Container[str] = ()) -> None:
    """Raise ValueError if an option of an estimator is out of range, or has no effect with the others.

    unused: the names of options that are not checked.
    """
    options = tuple(one for one in owner.OPTIONS.values() if one.name not in unused)
    settings = {one.name: getattr(owner, one.name) for one in options}
    for one in options:
        one.check(settings[one.name])
    given = {name: value for name, value in given_options(owner).items() if name in settings}
    check_conflicts(options, given, settings)


def fixed_options(owner: Any) -> tuple[str, ...]:
    """The names of the options that must not change when training resumes."""
    return tuple(one.name for one in owner.OPTIONS.values() if one.fixed_on_resume)


def given_options(owner: Any) -> dict[str, Any]:
    """The options of an estimator that differ from the defaults of its constructor."""
    values = {name: getattr(owner, name) for name in owner.OPTIONS}
    return {
        name: value
        for name, value in values.items()
        if value is not (usual := owner.OPTIONS[name].initial)
        and not (isinstance(value, str | int | float | tuple) and value == usual)
    }


def check_conflicts(
    options: Sequence[Option],
    given: Mapping[str, Any],
    settings: Mapping[str, Any],
    *,
    flags: bool = False,
    source: str = "memory",
) -> None:
    """Raise ValueError for a given option that has no effect, or that another one excludes.

    Parameters
    ----------
    given
        The options that the caller chose.
    settings
        The values of all options, with their defaults; and of other names that occur in `needs` and
        `excludes`, such as "a model", whose value "of several layers" completes the phrase.
    flags
        Whether the message names flags of the command line.
    source
        Where the training data are.
    """
    known = {one.name: one for one in options}

    def shown(name: str, value: Any = GIVEN) -> str:
        flag = known[name].flag if flags and name in known else ""
        if value == GIVEN:
            return flag or name
        return f"{flag or name} {value}" if flags else f"{name}={value!r}"

    for one in options:
        if one.name not in given:
            continue
        what = shown(one.name)
        if not one.works(settings, given):
            why = [f"with {shown(name, settings[name])}" for name, values in one.needs.items() if values]
            absent = [shown(name) for name, values in one.needs.items() if values == GIVEN]
            why += [f"without {' or '.join(absent)}"] * bool(absent)
            raise ValueError(f"{what} has no effect {' and '.join(why)}; leave it out")
        for other, values in one.excludes.items():
            if settings.get(other) in values if values else other in given:
                remedy = "leave one out" if other in known else "leave it out"
                shown_other = shown(other, settings[other] if values else GIVEN)
                raise ValueError(f"{what} cannot be combined with {shown_other}; {remedy}")
        if source not in one.sources and not flags:
            raise ValueError(f"{what} has no effect on training from {source}; leave it out")
        if source not in one.sources and (flag := SOURCES[source]):
            raise ValueError(f"{what} cannot be combined with {flag}; leave one out")
        if source not in one.sources:
            needed = " or ".join(SOURCES[name] for name in one.sources)
            raise ValueError(f"{what} has no effect without {needed}; leave it out")


def check_resumed(options: Iterable[Option], given: Mapping[str, Any]) -> None:
    """Raise ValueError for a flag that cannot change when training resumes."""
    for one in options:
        if one.fixed_on_resume and given.get(one.name) is not None:
            raise ValueError(f"{one.flag or one.name} cannot change with --resume; leave it out")


def rules(**flags: Any) -> tuple[Option, ...]:
    """A table of the flags of a command that exclude or need others; see `check_rules`."""
    return tuple(replace(one, name=name) for name, one in flags.items())


def check_rules(table: Sequence[Option], **values: Value) -> None:
    """Raise ValueError for flags of a command that exclude each other, or lack what they need.

    values: those of the flags and of other names that occur in the table; None, False, an empty list and the
    default mean that a flag is absent.
    """
    given = {
        one.name: value
        for one in table
        if (value := values.get(one.name)) not in (None, one.default, [], (), {}) and value is not False
    }
    check_conflicts(table, given, values, flags=True)


def markdown(options: Iterable[Option], kinds: Mapping[str, tuple[str, ...]]) -> str:
    """The options as a Markdown table, for a reference page; kinds: the columns of defaults."""
    flags = any(one.flag for one in options)
    heads = ["Python", *["Command line"] * flags, *kinds, "Meaning"]
    lines = [heads, ["---"] * len(heads)]
    for one in options:
        flag = [f"`{one.flag}`" if one.flag else ""] * flags
        defaults = [one.value(*names) for names in kinds.values()]
        shown = ["" if value is None else f"`{value}`" for value in defaults]
        lines.append([f"`{one.name}`", *flag, *shown, _meaning(one)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _meaning(one: Option) -> str:
    text = one.help.replace("|", "\\|")
    needed = [f"`{name}` {', '.join(map(str, values))}" for name, values in one.needs.items() if values]
    text += f" Only for {' or '.join(needed)}." if needed else ""
    return text + (" Fixed when you resume training." if one.fixed_on_resume else "")


def _described(one: Option) -> str:
    """Type and default, as numpydoc shows them."""
    kind = "object" if one.type is object else one.type.__name__
    choices = ", ".join(map(repr, one.choices))
    if choices:
        kind = f"{{{choices}}}" if one.type is str else f"{kind} or {choices}"
    return kind if one.initial is REQUIRED else f"{kind}, default={one.initial!r}"


def unchecked(name: str, value: Any) -> None:
    """For options whose values are checked where they are used."""


RANDOM_STATE = option(default=0, valid=unchecked, help="A seed, a NumPy generator, or None for a random one.")


def is_function(name: str, value: Any) -> None:
    """Raise ValueError if a value cannot be called."""
    if not callable(value):
        raise ValueError(f"{name} must be a function, got {value!r}"[:300])


def _plain(value: Any) -> Any:
    """A NumPy scalar as the number that it holds."""
    return value.item() if getattr(value, "shape", None) == () else value
