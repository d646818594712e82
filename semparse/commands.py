"""The functions behind `structsvm parse ...`; `structsvm.cli.parse` only parses their options."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from corpora.bags import Bag
from semparse.evaluation import Progress, Score, matches, score_matches, score_parses, seen
from semparse.examples import as_tokens
from semparse.frames import fault as frame_fault
from semparse.io import read_bags, read_tests, tab_line
from semparse.logs import read_windows
from semparse.meaning import as_mr, is_open
from semparse.options import OPTIONS, check_given
from semparse.ospas import Ospas
from semparse.parse import Parse
from semparse.picture import html_page, text_picture
from semparse.schema import Schema, SchemaError
from structsvm.files import DataError, atomic_write, check_output
from structsvm.options import check_resumed

SHOWN = ("mr", "json", "picture", "html")
EXPECTED = (
    'expected lines such as {"text": "anna passes to bob", "candidates": ["pass(anna, bob)"]} '
    "or `text TAB mr;mr`, or a RoboCup folder"
)


def train(
    files: Sequence[str | Path],
    output: str | Path,
    *,
    resume: str | Path | None = None,
    schema: str | Path | None = None,
    format: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> tuple[Ospas, list[Bag]]:
    """Train a parser on files of sentences with candidates and save it; return it and the bags it saw.

    options are those of `Ospas`. resume: continue training this model, one sentence after the other, with its
    own options.
    """
    chosen = {name: value for name, value in options.items() if value is not None}
    if resume is not None:
        check_resumed([replace(one, fixed_on_resume=True) for one in OPTIONS], {**chosen, "schema": schema})
    check_given(chosen)
    check_output(output, *files, schema)
    given = None if schema is None else read_schema(schema)
    bags = [bag for file in files for bag in training_bags(file, format, given)]
    said = [bag for bag in bags if as_tokens(bag.sentence)]  # "..." teaches nothing
    if resume is None:
        parser = Ospas(schema=given, **chosen)
        parser.fit(
            [bag.sentence for bag in said], [bag.candidates for bag in said],
            weights=[bag.weights for bag in said], wrong=[bag.wrong for bag in said], progress=progress,
        )  # fmt: skip
    else:
        parser = Ospas.load(resume)
        for bag in seen(said, progress):
            parser.partial_fit(bag.sentence, bag.candidates, weights=bag.weights, wrong=bag.wrong)
    parser.save(output)
    return parser, bags


def training_bags(file: str | Path, format: str | None, schema: Schema | None) -> list[Bag]:
    """The bags of a file; some may lack candidates or words, but DataError is raised if all of them do."""
    bags = sentences(file, format)
    told = format is not None or str(file).removesuffix(".gz").endswith((".jsonl", ".json"))
    if not any(bag.candidates for bag in bags) or (not told and _are_columns(bags)):
        what, hint = "no sentence has a candidate meaning", ""
        if not told:
            what = "this does not look like a file of sentences with candidate meanings"
            hint = "; if it has this format, specify it with --format"
        raise DataError(f"{what}; {EXPECTED}{hint}", str(file), bags[0].line)
    if not any(bag.candidates and as_tokens(bag.sentence) for bag in bags):
        raise DataError("no sentence with candidates has words; is this the right file?", str(file))
    for bag in bags:
        for candidate in bag.candidates if schema is not None else ():
            mr = as_mr(candidate)
            fault = (frame_fault if is_open(mr) else Schema.fault)(schema, mr) if schema else None
            if fault:
                raise DataError(f"{fault}; correct it, or the schema", str(file), bag.line)
    return bags


def _are_columns(bags: list[Bag]) -> bool:
    """Whether the lines are labelled words, one per line, for a tagger, instead of sentences."""
    return len(bags) > 2 and not any(
        len(bag.text.split()) > 1 or "(" in "".join(bag.candidates) for bag in bags
    )


def sentences(file: str | Path, format: str | None = None, *, blank: bool = False) -> list[Bag]:
    """The bags of a file, also those without words; blank: also for blank lines."""
    return _checked(read_bags(file, format, blank=blank), file)


def _checked(bags: list[Bag], file: str | Path) -> list[Bag]:
    if not any(bag.text for bag in bags):
        raise DataError("contains no sentences; is this the right file?", str(file))
    for bag in bags:
        try:
            as_tokens(bag.sentence)
        except ValueError as error:
            raise DataError(str(error), str(file), bag.line) from None
    return bags


def read_schema(path: str | Path) -> Schema:
    """A schema from a JSON file; raises DataError."""
    try:
        return Schema.from_json(json.loads(Path(path).read_text(encoding="utf-8")))
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", str(path)) from None
    except json.JSONDecodeError as error:
        raise DataError(f"no JSON: {error.msg}", str(path), error.lineno) from None
    except (SchemaError, UnicodeDecodeError) as error:
        raise DataError(str(error), str(path)) from None


def apply(
    model: Ospas | str | Path,
    file: str | Path = "-",
    output: str | Path = "-",
    *,
    n: int = 1,
    show: str = "mr",
    width: int | None = None,
    threshold: float | None = None,
    format: str | None = None,
) -> int:
    """Write the n best meanings of each sentence of a file; return how many sentences had one.

    Blank lines and sentences without words have no meaning, but they keep their line in the output.

    show: "mr" (a line `text TAB mr;mr` per sentence), "json" (an object per line), "picture" (words in
    columns above their symbols and roles, wrapped at `width`) or "html" (a page of such pictures).
    threshold: replaces the threshold of the model.
    """
    if show not in SHOWN:
        raise ValueError(f"show must be one of {', '.join(SHOWN)}, got {show!r}")
    check_output(output, file, None if isinstance(model, Ospas) else model)
    parser = _loaded(model, threshold=threshold)
    found = [(bag, parser.parse(bag.sentence, n)) for bag in sentences(file, format, blank=True)]
    _write(output, _shown(found, show, width))
    return sum(bool(parses) for _, parses in found)


def _loaded(model: Ospas | str | Path, **chosen: float | None) -> Ospas:
    """A parser, with options that only select its answers."""
    parser = model if isinstance(model, Ospas) else Ospas.load(model)
    changed = {name: value for name, value in chosen.items() if value is not None}
    return parser.with_options(**changed) if changed else parser


def _shown(found: Sequence[tuple[Bag, list[Parse]]], show: str, width: int | None) -> Iterator[str]:
    if show == "html":
        yield html_page((bag.text, parses) for bag, parses in found)
        return
    for bag, parses in found:
        if show == "mr":
            yield tab_line(bag, [str(parse) for parse in parses])
        elif show == "json":
            value = {"text": bag.text, "parses": [parse.to_json() for parse in parses]}
            yield json.dumps(value, ensure_ascii=False) + "\n"
        else:
            pictures = [f"{text_picture(parse, width)}=> {parse}\n\n" for parse in parses]
            yield "".join(pictures) or f"{' '.join(bag.text.split())}\n=> no meaning found\n\n"


def match(
    model: Ospas | str | Path,
    file: str | Path = "-",
    output: str | Path = "-",
    *,
    parts: int | None = None,
    salience: float | None = None,
    format: str | None = None,
) -> int:
    """Write `text TAB mr` with the candidate that each sentence means, if any; return the count.

    parts: train new parsers on the file, with the options of the model (see `Ospas.match_apart`). salience:
    replaces the salience of the model.
    """
    check_output(output, file, None if isinstance(model, Ospas) else model)
    parser = _loaded(model, salience=salience)
    bags = sentences(file, format, blank=True)
    held = [bag for bag in bags if bag.candidates]
    found = iter(matches(parser, held, parts))
    answers = [next(found) if bag.candidates else None for bag in bags]
    _write(output, [tab_line(bag, [str(mr)] if mr else []) for bag, mr in zip(bags, answers, strict=True)])
    return sum(mr is not None for mr in answers)


def evaluate(
    model: Ospas | str | Path,
    file: str | Path,
    *,
    parts: int | None = None,
    threshold: float | None = None,
    salience: float | None = None,
    format: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Score]:
    """Compare with the right meanings of a file: `parsing` and, if sentences have candidates, `matching`.

    If some sentences mean nothing (their gold is empty), `parsing` leaves them out, and `overall` counts
    answers to them as wrong.
    A RoboCup folder is scored as in the literature (see `read_tests`). parts: match as `match` does.
    threshold and salience replace those of the model.
    """
    parser = _loaded(model, threshold=threshold, salience=salience)
    parsed, matched, n_gold = read_tests(file, format)
    if not any(bag.gold for bag in _checked(parsed, file)):
        what = 'no sentence has a right meaning; add "gold" in JSONL, {"text": ..., "gold": ["mr"]}, or use '
        what += "--format tab if the meanings of lines `text TAB mr;mr` are right"
        raise DataError(what, str(file))
    scores = {"parsing": score_parses(parser, seen(parsed, progress))}
    if scores["parsing"].nothing:
        scores["overall"] = scores["parsing"].overall
    if any(bag.candidates for bag in matched):
        scores["matching"] = score_matches(parser, matched, n_gold, parts=parts, progress=progress)
    return scores


def windows(
    texts: str | Path,
    events: str | Path,
    output: str | Path = "-",
    *,
    before: float = 5,
    after: float = 2,
    by: str | None = None,
    fields: Sequence[str] = (),
) -> list[Bag]:
    """Write the bags of texts and events with times as JSONL, and return them (see `semparse.logs`).

    fields: names of the files, such as "time=timestamp"; a name may occur twice, once for each file.
    """
    check_output(output, texts, events)
    unnamed = [field for field in fields if not all(field.partition("="))]
    if unnamed:
        raise ValueError(f"{unnamed[0]!r} is not a field; write a name and a column, such as time=timestamp")
    named: dict[str, str] = {}
    for name, column in (field.split("=", 1) for field in fields):
        named[name] = f"{named[name]},{column}" if name in named else column
    bags = read_windows(texts, events, before=before, after=after, by=by, fields=named)
    _write(output, (bag.to_jsonl() for bag in bags))
    if not any(bag.candidates for bag in bags):
        warnings.warn(
            f"{texts}: no sentence has a candidate, because no event is in its window; use a larger --before "
            "or --after, and check that the times of both files match",
            stacklevel=2,
        )
    return bags


def schema(files: Sequence[str | Path], output: str | Path = "-", *, format: str | None = None) -> Schema:
    """Write the schema of all candidates of files as JSON, and return it."""
    check_output(output, *files)
    bags = [bag for file in files for bag in training_bags(file, format, None)]
    mrs = [as_mr(candidate) for bag in bags for candidate in bag.candidates]
    found = Schema.learn(mr for mr in mrs if not is_open(mr))
    _write(output, [json.dumps(found.to_json(), indent=1, ensure_ascii=False) + "\n"])
    return found


def lexicon(model: Ospas | str | Path, output: str | Path = "-", *, least: float = 0.1) -> int:
    """Write `word TAB symbol TAB share` for each share of at least `least`; return the number of lines."""
    check_output(output, None if isinstance(model, Ospas) else model)
    found = _loaded(model).lexicon()
    lines = [
        f"{word}\t{symbol}\t{share:.3f}\n"
        for word, symbols in sorted(found.items())
        for symbol, share in symbols.items()
        if share >= least
    ]
    _write(output, lines)
    return len(lines)


def inspect(model: str | Path, *, top: int = 20) -> dict[str, Any]:
    """Return the relations of a parser, its options, and the largest shares or weights of its lexicon."""
    parser = _loaded(model)
    lexicon = [(word, symbol, w) for word, found in parser.lexicon().items() for symbol, w in found.items()]
    relations = parser.schema_.relations.items()
    return {
        "file": str(model), "bytes": Path(model).stat().st_size,
        "relations": [f"{name}/{len(relation.slots)}" for name, relation in sorted(relations)],
        "words": len(parser.lexicon()),
        "options": {name: value for name, value in parser.get_params().items() if name != "schema"},
        "strongest": sorted(lexicon, key=lambda entry: (-entry[2], entry))[:top],
    }  # fmt: skip


def explain(
    model: Ospas | str | Path, sentence: str, meaning: str | None = None
) -> tuple[Parse | None, list[tuple[str, str, float]]]:
    """The best or a given meaning of a sentence, and the weights behind its score.

    Raise ValueError if the sentence cannot have the given meaning.
    """
    parser = _loaded(model)
    if meaning is None:
        best = parser.parse(sentence)[:1]
        return (best[0] if best else None), parser.explain(sentence)
    found = parser.align(sentence, meaning)
    if found is None:
        raise ValueError(
            f"the sentence cannot mean {meaning}: no word expresses one of its symbols, or the schema of the "
            "model does not allow it; check the names of the symbols with `structsvm parse lexicon`"
        )
    return found, parser.explain(sentence, found.mr)


def _write(output: str | Path, parts: Iterable[str]) -> None:
    with atomic_write(output) as file:
        for part in parts:
            file.write(part.encode())
