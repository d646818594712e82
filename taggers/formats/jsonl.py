"""JSON lines: a text with spans of characters (Doccano, Prodigy), or tokens with tags (Hugging Face).

The keys of an object decide what it is. Files of `structsvm teach` and of `tag --to jsonl` are of the second
kind. A missing answer is null.
"""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from numbers import Real
from operator import index
from pathlib import Path
from typing import Any

from taggers.formats.base import Format
from taggers.formats.records import (
    DEFAULTS,
    CharSpan,
    Reading,
    Record,
    RecordFormat,
    char_spans,
    cut_lines,
    of_words,
    scheme_of,
)
from taggers.formats.tokenizer import Token

TEXTS = ("text", "data", "sentence", "content")
WORDS = ("tokens", "words")
SPANS = ("spans", "entities", "label", "labels", "annotations")
STARTS, ENDS = ("start", "start_offset", "begin"), ("end", "end_offset")
KINDS = ("label", "labels", "entity", "entity_group", "type")
TAGS = {
    "labels": "label", "label": "label", "tags": "label", "ner_tags": "ner", "ner": "ner", "entities": "ner",
    "chunk_tags": "chunk", "chunk": "chunk", "pos_tags": "upos", "upos": "upos", "pos": "upos",
    "xpos": "xpos", "lemma": "lemma", "lemmas": "lemma", "feats": "feats",
}  # fmt: skip
# Fields with keys of the same name.
OWN = ("ner", "chunk", "upos", "xpos", "lemma", "feats", "head", "deprel")
KEY = re.compile(
    rf'\s*(?:\{{.*"(?:{"|".join((*TEXTS, *WORDS))})"\s*:|\[\s*".*"\s*,\s*\{{\s*"entities"\s*:)', re.DOTALL
)
REJECTED = ("reject", "ignore")  # Prodigy's answers


class JsonLines(RecordFormat):
    """One JSON object per line; other keys are kept when labels are written back."""

    name = "jsonl"
    title = "JSON lines"
    sign = '"'
    whole = False
    cut = staticmethod(cut_lines)

    def extra(self, raw: Any) -> list[str]:
        known = {*TEXTS, *WORDS, *SPANS, *TAGS, *KINDS, "answer", "spaces"}
        return sorted(f"key {key}" for key in raw if key not in known) if isinstance(raw, dict) else []

    def matches(self, head: Sequence[str]) -> bool:
        return bool(head) and KEY.match(head[0]) is not None and not head[0].rstrip().endswith(("{", ","))

    def column(self, name: str) -> int:
        return super().column(TAGS.get(name, name))

    def choose(self, name: str) -> tuple[Format, int]:
        if name in TAGS or name.lower() in self.names or re.fullmatch(r"-?\d+", name):
            return self, self.column(name)
        found = copy(self)
        found.key = name
        return found, self.label

    def records(self, data: bytes, line: int, reading: Reading) -> Iterator[Record]:
        for number, text in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), line):
            if text.strip():
                yield from object_record(loaded(text, number, reading), number, reading)

    def dump(self, records: Sequence[Record]) -> bytes:
        scheme = scheme_of(records)
        lines = (json.dumps(_line(record, scheme), ensure_ascii=False) for record in records)
        return "".join(f"{line}\n" for line in lines).encode()


def _line(record: Record, scheme: str) -> Any:
    if isinstance(record.raw, dict) and isinstance(record.raw.get("data"), dict):
        from taggers.formats.labelstudio import as_task

        return as_task(record, scheme)
    return as_object(record, scheme)


def loaded(text: bytes, line: int, reading: Reading) -> Any:
    """The value of a JSON text, or raise DataError."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        at = line + error.lineno - 1
        raise reading.refuse(f"is not JSON: {error.msg} (character {error.colno} of the line)", at) from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise reading.refuse(f"is not JSON in UTF-8: {error}; set the encoding", line) from None


def object_record(value: Any, line: int, reading: Reading) -> Iterator[Record]:
    """Yield the document of a JSON object; none if an annotator rejected it."""
    if isinstance(value, (list, tuple)) and len(value) == 2 and isinstance(value[0], str):
        value = {"text": value[0], **(value[1] if isinstance(value[1], dict) else {})}
    if not isinstance(value, dict):
        raise reading.refuse('each line must be a JSON object, as in {"text": ..., "spans": [...]}', line)
    if isinstance(value.get("data"), dict):
        from taggers.formats.labelstudio import task_record

        yield from task_record(value, line, reading)
    elif value.get("answer") in REJECTED:
        reading.misfits.skipped.append(line)
    else:
        words = next((value[key] for key in WORDS if value.get(key) is not None), None)
        text = next((value[key] for key in TEXTS if isinstance(value.get(key), str)), None)
        if words is not None:
            yield _tokenized(value, words, text, line, reading)
        elif text is not None:
            spans = span_list(value, text, line, reading)
            if spans is None and value.get("annotation_id") is not None:
                spans = []  # Label Studio's JSON_MIN leaves out empty lists
            yield reading.of_text(text, spans, line, raw=value)
        else:
            raise reading.refuse(
                f"has no text and no tokens; one of the keys {', '.join((*TEXTS, *WORDS))} must hold them",
                line,
            )


def _tokenized(value: dict[str, Any], words: Any, text: str | None, line: int, reading: Reading) -> Record:
    """A document whose tokens the file gives."""
    if not isinstance(words, list):
        raise reading.refuse("tokens must be a list", line)
    if text and not text.isspace() and not words:
        raise reading.refuse("the list of tokens is empty, but the text is not", line)
    starts = [True]
    if words and isinstance(words[0], Mapping):
        tokens = _offset_tokens(words, text, line, reading)
        starts = [bool(word.get("sent_start", at == 0)) for at, word in enumerate(words)]
        text = text if text is not None else _spread(tokens)
    elif all(isinstance(word, str) and word for word in words):
        text, tokens = of_words(words, spaces=_spaces(value, len(words)))
    else:
        raise reading.refuse(
            "tokens must be strings that are not empty, or objects with text, start, end", line
        )
    sentences: list[list[Token]] = []
    for at, token in enumerate(tokens):
        if at == 0 or (at < len(starts) and starts[at]):
            sentences.append([])
        sentences[-1].append(token)
    record = Record(text, sentences, line=line, raw=value)
    if reading.key and reading.key not in value:
        raise reading.refuse(f"has no key {reading.key!r}; its keys are {', '.join(value)}", line)
    for key, name in ({reading.key: "label"} if reading.key else TAGS).items():
        tags = value.get(key)
        if name in record.values or not isinstance(tags, list) or not _are_tags(tags):
            continue
        if len(tags) != len(tokens):
            raise reading.refuse(f"{key} has {len(tags)} labels for {len(tokens)} tokens", line)
        record.values[name] = [_tag(tag, key, reading) for tag in tags]
    extra = value.get("columns")  # of `structsvm teach`: the inputs after the word
    if isinstance(extra, list) and extra and isinstance(extra[0], list) and len(extra[0]) == len(tokens):
        record.values.setdefault("xpos", [str(one) for one in extra[0]])
    if "label" not in record.values and "ner" not in record.values:
        spans = span_list(value, record.text, line, reading)
        if spans is not None:
            reading.put_spans(record, spans)
    if not record.values:
        for key in value.keys() - {*TAGS, *WORDS, *SPANS}:
            tags = _listed(value[key])
            if len(tags) == len(tokens) and _are_tags(tags):
                reading.misfits.unread.setdefault(key, line)
    return record


def _spaces(value: Mapping[str, Any], n: int) -> list[bool] | None:
    """Whether a space follows each token, as `structsvm teach` writes it."""
    spaces = value.get("spaces")
    return spaces if isinstance(spaces, list) and len(spaces) == n else None


def _offset_tokens(words: Sequence[Any], text: str | None, line: int, reading: Reading) -> list[Token]:
    tokens = []
    last = 0
    for word in words:
        try:
            form, start, end = str(word["text"]), int(word["start"]), int(word["end"])
        except (KeyError, TypeError, ValueError):
            raise reading.refuse("each token needs text, start and end", line) from None
        if not last <= start <= end or (text is not None and end > len(text)) or not form:
            raise reading.refuse(
                f"the token {form!r} is not at characters {start}-{end} of the text; count characters",
                line,
            )  # fmt: skip
        last = start
        tokens.append(Token(form, start, end))
    return tokens


def _spread(tokens: Sequence[Token]) -> str:
    text = ""
    for token in tokens:
        text += " " * (token.start - len(text)) + token.text
    return text


def _are_tags(tags: list[Any]) -> bool:
    return bool(tags) and all(tag is None or isinstance(tag, (str, Real)) for tag in tags)


def _tag(tag: Any, key: str, reading: Reading) -> str | None:
    """A label; integers are looked up in the dataset_info.json of a Hugging Face data set."""
    if tag is None or tag == "" or tag != tag:
        return None
    if isinstance(tag, str):
        return tag
    names = label_names(key, reading)
    if names is None:
        return str(tag)
    return names[int(tag)] if 0 <= int(tag) < len(names) else None  # -100 marks what is ignored


def label_names(key: str, reading: Reading) -> list[str] | None:
    """The names of integer tags, from dataset_info.json in the same folder."""
    if key not in reading.names:
        found = None
        try:
            info = json.loads((Path(reading.name).parent / "dataset_info.json").read_bytes())
            feature = info["features"][key]
            found = list((feature[0] if isinstance(feature, list) else feature["feature"])["names"])
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            warnings.warn(
                f"{reading.name}: {key} has numbers, which become labels such as 0; to name them, put the "
                "dataset_info.json of the data set into the same folder, or pass the data set of Hugging "
                "Face to read_sentences", UserWarning, stacklevel=2,
            )  # fmt: skip
        reading.names[key] = found
    return reading.names[key]


def span_list(value: Mapping[str, Any], text: str, line: int, reading: Reading) -> list[CharSpan] | None:
    """The spans of an object; None if it has none of the keys."""
    for key in SPANS:
        given = value.get(key)
        if isinstance(given, list) and (not given or isinstance(given[0], (list, tuple, Mapping))):
            if given and all(_is_quoted(one) for one in given):
                return _found(given, text, line, reading)
            return [_span(one, line, reading) for one in given]
        if given is not None and key in ("label", "labels"):
            raise reading.refuse(
                f"{key} is {str(given)[:40]!r}, a label of the whole text; structsvm learns spans, such as "
                '[[0, 4, "PER"]], or a list of tags for tokens', line,
            )  # fmt: skip
    return None


def _is_quoted(one: Any) -> bool:
    """Whether an object says what the words of a span are, but not where, as language models do."""
    return isinstance(one, Mapping) and isinstance(one.get("text"), str) and not any(k in one for k in STARTS)


def _found(given: Sequence[Mapping[str, Any]], text: str, line: int, reading: Reading) -> list[CharSpan]:
    """Find quoted spans: all places of the words, the longer ones first.

    Words that are quoted with several labels get them in order.
    """
    labels: dict[str, list[str]] = {}
    for one in given:
        label = next((one[key] for key in KINDS if key in one), None)
        if not isinstance(label, str) or not label.strip() or not one["text"].strip():
            raise reading.refuse(f'{json.dumps(one)[:60]} needs a text and a label, such as "PER"', line)
        labels.setdefault(one["text"].strip(), []).append(label)
    spans: list[CharSpan] = []
    free = [True] * len(text)
    for words in sorted(labels, key=len, reverse=True):
        places = [place.span() for place in re.finditer(rf"(?<!\w){re.escape(words)}(?!\w)", text)]
        if not places:
            reading.misfits.total += 1
            reading.misfits.absent.append((line, words[:40]))
        for at, (start, end) in enumerate(places):
            if all(free[start:end]):
                spans.append(CharSpan(start, end, labels[words][min(at, len(labels[words]) - 1)]))
            free[start:end] = [False] * (end - start)
    return spans


def _span(one: Any, line: int, reading: Reading) -> CharSpan:
    try:
        if isinstance(one, Mapping):
            start = next(one[key] for key in STARTS if key in one)
            end = next(one[key] for key in ENDS if key in one)
            label = next(one[key] for key in KINDS if key in one)
        else:
            start, end, label = one
        label = label[0] if isinstance(label, list) else label
        start, end = index(start), index(end)
        if not (isinstance(label, str) and label.strip()):
            raise ValueError
    except (StopIteration, ValueError, TypeError, IndexError):
        raise reading.refuse(
            f"{json.dumps(one, default=str)[:60]} is not a span; write [start, end, label] or "
            '{"start": 0, "end": 4, "label": "PER"}', line,
        ) from None  # fmt: skip
    return CharSpan(start, end, label)


def as_object(record: Record, scheme: str) -> dict[str, Any]:
    """A document as a JSON object, in the form that it was read in."""
    raw = record.raw if isinstance(record.raw, dict) and not isinstance(record.raw.get("data"), dict) else {}
    values = record.value("label")
    words = next((raw[key] for key in WORDS if key in raw), None)
    if words == []:
        return dict(raw)
    if words is not None and not isinstance(words[0], Mapping):
        return {**raw, **_tag_lists(record, raw, phrases=scheme != "none"), **_scores(record)}
    key = next((key for key in SPANS if isinstance(raw.get(key), list)), "spans")
    unknown = values is not None and None in values
    found: dict[str, Any] = dict(raw) or {"text": record.text}
    if scheme != "none" and values is not None:
        found[key] = _spans(record, scheme, raw.get(key), key)
    if words is None and (not raw or scheme == "none" or unknown or record.scores):
        found["tokens"] = _tokens(record)
    if values is not None and (unknown or scheme == "none"):
        own = next(name for name in DEFAULTS if name in record.values)
        free = "labels" if key != "labels" or scheme == "none" else "tags"
        found[free if raw or own == "label" else own] = values
    for name in () if raw else OWN:
        if name in record.values and record.values[name] is not values:
            row = record.values[name]
            found[name] = [int(value or 0) for value in row] if name == "head" else row
    return {**found, **_scores(record)}


def _tag_lists(record: Record, raw: Mapping[str, Any], *, phrases: bool) -> dict[str, Any]:
    """The labels of tokens by key: those of a field that was read replace it, and no other."""
    keys: dict[str, str] = {}
    for key, name in TAGS.items():
        if _are_tags(_listed(raw.get(key))):
            keys.setdefault(name, key)
    found = {keys[name]: row for name, row in record.values.items() if name in keys}
    if "label" in record.values and "label" not in keys:
        alike = ("ner", "chunk") if phrases else ("upos", "xpos", "ner", "chunk")
        found[next((keys[name] for name in alike if name in keys), "labels")] = record.values["label"]
    return found


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _tokens(record: Record) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    several = len(record.sentences) > 1
    for sentence in record.sentences:
        for at, token in enumerate(sentence):
            one: dict[str, Any] = {
                "text": token.text,
                "start": token.start,
                "end": token.end,
                "id": len(found),
            }
            if several:
                one["sent_start"] = at == 0
            found.append(one)
    return found


def _spans(record: Record, scheme: str, before: Any, key: str) -> list[Any]:
    """The phrases in the form of the spans before, or as objects with start, end and label."""
    spans = char_spans(record, scheme)
    triple = key in ("label", "labels") or bool(before and isinstance(before[0], list))
    if triple and not (before and isinstance(before[0], Mapping)):
        return [[one.start, one.end, one.label] for one in spans]
    if before and isinstance(before[0], Mapping) and "start_offset" in before[0]:
        return [
            {"id": number, "label": one.label, "start_offset": one.start, "end_offset": one.end}
            for number, one in enumerate(spans)
        ]
    return [
        {"start": one.start, "end": one.end, "label": one.label, **score_of(record, one)} for one in spans
    ]


def score_of(record: Record, span: CharSpan) -> dict[str, Any]:
    """The smallest score of the tokens of a span, if there are scores."""
    if record.scores is None:
        return {}
    inside = [
        score for token, score in zip(record.tokens, record.scores, strict=True)
        if span.start <= token.start < span.end
    ]  # fmt: skip
    return {"score": finite(min(inside))}


def _scores(record: Record) -> dict[str, Any]:
    return {} if record.scores is None else {"scores": [finite(score) for score in record.scores]}


def finite(score: float) -> float | None:
    """A score with four decimals; None for infinity, which JSON lacks."""
    return round(score, 4) if math.isfinite(score) else None


FORMAT = JsonLines()
