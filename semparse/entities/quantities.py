"""Quantities with units: "5 minutes", "five min", "20 °C", "3km"."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from semparse.entities.numbers import NUMBER, number
from semparse.entities.tokens import Tokens

# The spellings of each unit, the usual one first; blocks are units of one kind. A single letter is read only
# directly after digits.
_BLOCKS = """
seconds second sec secs s segundos segundo sekunden sekunde secondes seconde
minutes minute min mins minutos minuto minuten
hours hour hr hrs h horas hora stunden stunde std heures heure
days day d días día dias dia tage tag jours jour
weeks week semanas semana wochen woche semaines semaine
months month meses mes monate monat mois
years year yr yrs años año jahre jahr ans

percent % pct prozent

degrees degree deg ° grados grado grad degrés
celsius °c c centigrade
fahrenheit °f f

millimetres mm millimeters millimetre millimeter
centimetres cm centimeters centimetre centimeter
metres m meters metre meter metros metro
kilometres km kms kilometers kilometre kilometer kilómetros kilómetro
miles mile mi millas milla meilen meile

grams g gram gramos gramo gramm grammes gramme
kilograms kg kgs kilogram kilos kilo

litres l liters litre liter litros litro
millilitres ml milliliters

dollars $ dollar usd
euros € euro eur
"""
KINDS = [[tuple(line.split()) for line in block.split("\n")] for block in _BLOCKS.strip().split("\n\n")]
UNITS = [unit for kind in KINDS for unit in kind]
_UNIT = {spelling: unit for unit in UNITS for spelling in unit}
_SIGNS = "|".join(re.escape(sign) for sign in sorted(_UNIT, key=len, reverse=True) if not sign[-1].isalnum())
_SIGNS = f"°[cf](?!\\w)|{_SIGNS}"
_JOINED = re.compile(rf"({NUMBER})([^\W\d_]+|{_SIGNS})", re.IGNORECASE)
_BEFORE = re.compile(r"([$€])\s?$")
_AFTER = re.compile(rf"\s?({_SIGNS})", re.IGNORECASE)
_CONSTANT = re.compile(rf"({NUMBER})([ _]?)([^\W\d_]+|{_SIGNS})", re.IGNORECASE)
ENOUGH = 3  # different quantities open a type


def quantity(x: Sequence[str], i: int) -> tuple[int, str | None]:
    """Where the quantity that begins at a word ends, and the quantity as "5 minutes"; None if none begins.

    Its number is in digits, and its unit is the first spelling in `UNITS`.
    """
    if joined := _JOINED.fullmatch(x[i]):
        unit = _UNIT.get(joined[3].lower())
        return i + 1, f"{joined[1]} {unit[0]}" if unit else None
    end, value = number(x, i)
    if value is None:
        return i + 1, None
    if isinstance(x, Tokens) and (sign := _BEFORE.search(x.text, 0, x.spans[i][0])):
        return end, f"{value} {_UNIT[sign[1]][0]}"
    if isinstance(x, Tokens) and (sign := _AFTER.match(x.text, x.spans[end - 1][1])):
        covered = sign.end() - x.spans[end - 1][1] > 1 and end < len(x) and x.spans[end][0] < sign.end()
        return end + covered, f"{value} {_UNIT[sign[1].lower()][0]}"
    following = x[end] if end < len(x) else ""
    unit = _UNIT.get(following) if len(following) > 1 or not following.isalnum() else None
    if unit is None:
        return i + 1, None
    if unit[0] == "degrees" and end + 1 < len(x) and x[end + 1] in ("celsius", "centigrade", "fahrenheit"):
        return end + 2, f"{value} {_UNIT[x[end + 1]][0]}"
    return end + 1, f"{value} {unit[0]}"


def written(value: str, units: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The constants that a quantity or number may be written as; units: learned spellings, by `key`."""
    n, _, name = value.partition(" ")
    usual = _usual(value) if name else (n,)
    ways = [*units.get(key(value), ())], [*units.get(name, ())]
    return tuple(dict.fromkeys((*(n + way for way in ways[0]), *usual, *(n + way for way in ways[1]))))


@lru_cache(10_000)
def _usual(value: str) -> tuple[str, ...]:
    """The same for units as they are spelled, and last the number."""
    n, _, name = value.partition(" ")
    usual, *others = _UNIT[name]
    spellings = (*others[:1], usual, *others[1:]) if n == "1" else (usual, *others)
    return (*(f"{n}{mark}{unit}" for mark in (" ", "_", "") for unit in spellings), n)


def pairs(x: Sequence[str], constants: Iterable[str]) -> Iterator[tuple[str, str]]:
    """For each quantity of a sentence and each constant with its number, the unit and how the constant
    writes it; the unit of a plain number is empty. The constant is empty if none has the number."""
    found = [(m[1], m[3] + m[4]) for one in constants if (m := _CONSTANT.fullmatch(one))]
    i = 0
    while found and i < len(x):
        end, value = quantity(x, i)
        if value is None:
            end, value = number(x, i)
        if value is not None:
            same = {how for n, how in found if n == value.partition(" ")[0]}
            yield from ((key(value), how) for how in same or {""})
        i = end


def key(value: str) -> str:
    """The unit of a quantity; that of one thing is apart, as in "1 minutes"."""
    n, _, name = value.partition(" ")
    return f"1 {name}" if n == "1" else name


def open_pattern(constants: Collection[str]) -> str | None:
    """The pattern of quantities written like these constants, if enough of them are quantities.

    Units of the same kinds that the constants lack have their usual names, except temperatures: "degrees"
    may be either scale.
    """
    found = [match for one in constants if (match := _CONSTANT.fullmatch(one)) and match[4].lower() in _UNIT]
    if len({match[0] for match in found}) < ENOUGH or 2 * len(found) < len(constants):
        return None
    marks = sorted({match[3] for match in found})
    units = {match[4] for match in found}
    seen = {_UNIT[unit.lower()] for unit in units}
    open_kinds = [kind for kind in KINDS if _UNIT["celsius"] not in kind]
    units |= {unit[0] for kind in open_kinds if seen.intersection(kind) for unit in kind if unit not in seen}
    return rf"{NUMBER}({'|'.join(marks)})({'|'.join(map(re.escape, sorted(units)))})"


@lru_cache(1000)
def is_open(pattern: re.Pattern[str]) -> bool:
    """Whether a pattern allows quantities, and not any text."""
    either = re.compile(pattern.pattern, re.IGNORECASE)  # 20C
    return not pattern.fullmatch("any text") and any(
        either.fullmatch(one) for unit in UNITS for one in _usual(f"27 {unit[0]}")[:-1]
    )
