"""Quantities with units: "5 minutes", "five min", "20 °C", "3km"."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
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


@lru_cache(10_000)
def written(value: str) -> tuple[str, ...]:
    """The constants that a quantity may be written as, and last its number."""
    n, _, name = value.partition(" ")
    usual, *others = _UNIT[name]
    spellings = (*others[:1], usual, *others[1:]) if n == "1" else (usual, *others)
    return (*(f"{n}{mark}{unit}" for mark in (" ", "_", "") for unit in spellings), n)


def open_pattern(constants: Collection[str]) -> str | None:
    """The pattern of quantities written like these constants, if enough of them are quantities.

    Units of the same kinds that the constants lack have their usual names.
    """
    found = [match for one in constants if (match := _CONSTANT.fullmatch(one)) and match[4].lower() in _UNIT]
    if len({match[0] for match in found}) < ENOUGH or 2 * len(found) < len(constants):
        return None
    marks = sorted({match[3] for match in found})
    units = {match[4] for match in found}
    seen = {_UNIT[unit.lower()] for unit in units}
    units |= {unit[0] for kind in KINDS if seen.intersection(kind) for unit in kind if unit not in seen}
    return rf"{NUMBER}({'|'.join(marks)})({'|'.join(map(re.escape, sorted(units)))})"


@lru_cache(1000)
def is_open(pattern: re.Pattern[str]) -> bool:
    """Whether a pattern allows quantities, and not any text."""
    return not pattern.fullmatch("any text") and any(
        pattern.fullmatch(one) for unit in UNITS for one in written(f"27 {unit[0]}")[:-1]
    )
