"""Label Studio's exports JSON and JSON-MIN, and other JSON arrays of objects as in JSON lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from taggers.formats.jsonl import as_object, loaded, object_record, score_of
from taggers.formats.records import CharSpan, Reading, Record, RecordFormat, char_spans, scheme_of
from taggers.formats.utf16 import Offsets

BEGIN = re.compile(r"\s*\[\s*(\{|$)")
SPACE = re.compile(r"(?:\s|\\[nr])+")  # Label Studio quotes a line end as a backslash and n


class LabelStudioFormat(RecordFormat):
    """A JSON array. Predictions of `tag` become `predictions` of the tasks, as Label Studio imports them."""

    name = "labelstudio"
    title = "Label Studio's JSON"
    keeps = ("label",)
    only_phrases = True
    sign = "["

    def matches(self, head: Sequence[str]) -> bool:
        """An array of objects with a key that is known; the first lines need not be complete."""
        start = "\n".join(head)
        keys = ("data", "annotations", "completions", "text", "tokens", "words")
        return BEGIN.match(head[0] if head else "") is not None and any(
            re.search(rf'"{key}"\s*:', start) for key in keys
        )

    def records(self, data: bytes, line: int, reading: Reading) -> Iterator[Record]:
        found = loaded(data.removeprefix(b"\xef\xbb\xbf"), line, reading)
        if not isinstance(found, list):
            raise reading.refuse("must be a JSON array of tasks", line)
        for number, value in enumerate(found, 1):  # json gives no line numbers of values
            yield from object_record(value, number, reading)

    def dump(self, records: Sequence[Record]) -> bytes:
        scheme = scheme_of(records)
        found = []
        for record in records:
            if isinstance(record.raw, dict) and not isinstance(record.raw.get("data"), dict):
                found.append(as_object(record, scheme))
            else:
                found.append(as_task(record, scheme))
        return (json.dumps(found, ensure_ascii=False, indent=1) + "\n").encode()


def task_record(task: Mapping[str, Any], number: int, reading: Reading) -> Iterator[Record]:
    """Yield the document of a task; none if all its annotations were cancelled.

    Of several annotations, the first one that was not cancelled counts.
    """
    data = task["data"]
    given = [one for key in ("annotations", "completions") for one in task.get(key) or ()]
    kept = [one for one in given if not one.get("was_cancelled") and not one.get("skipped")]
    if given and not kept:
        reading.misfits.skipped.append(number)
        return
    results = [one for one in (kept[0].get("result") or () if kept else ())]
    regions = [one for one in results if isinstance(one.get("value"), Mapping) and "start" in one["value"]]
    key = _text_key(data, regions)
    if key is None:
        raise reading.refuse("this task has no text in its data", number)
    text = data[key]
    offsets = Offsets(text)
    spans = []
    for region in regions:
        value = region["value"]
        labels, quoted = value.get("labels") or value.get("hypertextlabels"), value.get("text")
        if not labels:
            continue
        try:
            start, end = int(value["start"]), int(value["end"])
        except (KeyError, TypeError, ValueError):
            raise reading.refuse("a region needs start, end and labels", number) from None
        place = region_place(text, offsets, start, end, quoted)
        if place is None and isinstance(quoted, str):
            raise reading.refuse(
                f"the region {start}-{end} has the text {quoted[:30]!r}, but the task has "
                f"{text[start:end][:30]!r} there; was the text changed?", number,
            )  # fmt: skip
        spans.append(CharSpan(*(place or (start, end)), str(labels[0])))
    record = reading.of_text(text, spans if kept else None, number, raw=dict(task))
    record.name = str(task.get("id", number))
    yield record


def region_place(text: str, offsets: Offsets, start: int, end: int, quoted: Any) -> tuple[int, int] | None:
    """Where a region is in its text, in characters; None if that cannot be.

    Label Studio counts characters. Old versions counted UTF-16 units; the quoted text shows which it is.
    """
    for a, b in ((start, end), (offsets.characters(start), offsets.characters(end))):
        if 0 <= a < b <= len(text) and (not isinstance(quoted, str) or _quotes(text, a, b, quoted)):
            return a, b
    return None


def _quotes(text: str, start: int, end: int, quoted: str) -> bool:
    """Whether a region quotes this part of a text; as in a browser, all white space is alike."""
    if len(quoted) == end - start and text.startswith(quoted, start):
        return True
    if end - start > 4 * len(quoted) + 16:  # keeps the cost below that of reading the regions
        return False
    return SPACE.sub(" ", text[start:end]).strip() == SPACE.sub(" ", quoted).strip()


def _text_key(data: Mapping[str, Any], regions: Sequence[Any]) -> str | None:
    """The key of the text: `text`, or the only text there is."""
    texts = [key for key, value in data.items() if isinstance(value, str)]
    if "text" in texts:
        return "text"
    return max(texts, key=lambda key: len(data[key])) if texts else None


def as_task(record: Record, scheme: str) -> dict[str, Any]:
    """A document as a task, with the phrases as annotations, or as predictions if a model found them."""
    raw = record.raw if isinstance(record.raw, dict) else {"data": {"text": record.text}}
    results: list[dict[str, Any]] = []
    for number, span in enumerate(char_spans(record, scheme)):
        results.append({
            "id": f"s{number}", "from_name": "label", "to_name": "text", "type": "labels",
            "value": {
                "start": span.start, "end": span.end,
                "text": record.text[span.start : span.end], "labels": [span.label],
            },
            **score_of(record, span),
        })  # fmt: skip
    if record.value("label") is None:
        return dict(raw)
    if record.predicted:
        return {**raw, "predictions": [{"model_version": "structsvm", "result": results}]}
    return {**raw, "annotations": [{"result": results}]}


FORMAT = LabelStudioFormat()
