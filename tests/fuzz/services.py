"""Fuzz requests to the web services, and the journals and labelled files of sessions that learn."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.fuzz.mutate import changed_json, mutated
from tests.taggers.sentences import as_columns

TEXT = b"Anna sings in Rome\nOtto went to Paris\nthe cat sleeps\n"
LABELLED = b"Anna B-PER\nsings O\nin O\nRome B-LOC\n\nthe O\ncat O\n\n"
BAGS = b'{"text": "gus passes to anna", "candidates": ["pass(gus, anna)", "shot(gus)"]}\n' * 2
CONFIG = (
    '<View><Labels name="l" toName="t"><Label value="PER"/></Labels><Text name="t" value="$text"/></View>'
)
REQUESTS: dict[str, list[tuple[str, Any]]] = {
    "serve": [
        ("/tag", {"tokens": ["Anna", "sings"], "margins": True}),
        ("/tag", {"text": "Anna sings. Otto \U0001f600 left.", "margins": False}),
        ("/tag", {"sentences": [["Anna"], ["Otto", "left"]]}),
        ("/learn", {"sentences": [{"tokens": ["Eva", "sings"], "labels": ["B-PER", None]}]}),
        ("/learn", {"tokens": ["Eva", "Lee"], "labels": ["B-PER", ["I-PER", "O"]]}),
        ("/learn", {"text": "Eva sings", "spans": [{"start": 0, "end": 3, "label": "PER"}]}),
        ("/label-studio/setup", {"project": "1.2", "schema": CONFIG}),
        (
            "/label-studio/predict",
            {"tasks": [{"id": 1, "data": {"text": "Anna"}}], "project": "1.2", "label_config": CONFIG},
        ),
        (
            "/label-studio/webhook",
            {
                "action": "ANNOTATION_CREATED", "project": {"id": 1, "label_config": CONFIG},
                "task": {"data": {"text": "Anna \U0001f600 sings"}},
                "annotation": {"id": 3, "updated_at": "2026", "result": [
                    {"type": "labels", "from_name": "l", "value": {"start": 0, "end": 4, "labels": ["PER"]}}
                ]},
            },
        ),
        (
            "/inception/predict",
            {"metadata": {"layer": "x", "feature": "v", "range": {"begin": 0, "end": 3}},
             "document": {"xmi": "<a/>"}, "typeSystem": "<b/>"},
        ),
        (
            "/inception/train",
            {"metadata": {"layer": "x", "feature": "v"}, "documents": [{"xmi": "<a"}], "typeSystem": ""},
        ),
    ],
    "teach": [
        ("/question", {"tab": "a"}), ("/question", {"tab": "b", "id": "?"}),
        ("/answer", {"tab": "a", "id": "?", "key": "?", "value": ["B-PER", "O", "O", "B-LOC"]}),
        ("/answer", {"tab": "a", "id": "?", "key": "?", "value": None, "again": True}),
        ("/answer", {"tab": "a", "id": "?", "key": "?", "value": 1}),
        ("/undo", {"tab": "a", "key": "?"}), ("/name", {"tab": "a", "key": "?", "name": "ORG"}),
        ("/explain", {"id": "?", "at": 0}), ("/alternatives", {"id": "?"}), ("/doubts", {}), ("/save", {}),
    ],
    "parse serve": [("/parse", {"text": "gus passes to anna", "n": 3})],
}  # fmt: skip
REQUESTS["parse teach"] = REQUESTS["teach"]


async def send(app: Any, path: str, body: bytes) -> int:
    """The status of the answer to a POST request."""
    status, parts = 0, [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        return parts.pop() if parts else {"type": "http.disconnect"}

    async def note(message: Any) -> None:
        nonlocal status
        status = message.get("status", status)

    scope = {
        "type": "http", "method": "POST", "path": f"/{app.token}{path}", "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
    }  # fmt: skip
    await app(scope, receive, note)
    return status


def prepared(folder: Path) -> dict[str, Callable[..., Any]]:
    """The files of all sessions; return the functions that begin or continue one, with other files."""
    from semparse import Ospas, commands
    from semparse.serve import new_service as new_parse_service
    from semparse.teach import teach as teach_parser
    from taggers import NerTagger
    from taggers.serve.learner import Learner
    from taggers.teach.commands import teach

    X, y = [["Anna", "sings"], ["Otto", "left"]], [["B-PER", "O"], ["B-PER", "O"]]
    NerTagger().fit(X, y).save(folder / "tagger", training_state=True)
    for name, content in (("text", TEXT), ("labelled", LABELLED), ("bags", BAGS)):
        (folder / name).write_bytes(content)
    commands.train([folder / "bags"], folder / "parser")
    out = folder / "output"
    return {
        "serve": lambda journal, **_: Learner(folder / "tagger", journal),
        "teach": lambda journal, file="text", **files: teach(
            "ner", folder / file, out, journal=journal, labels=("PER", "LOC"), **files
        ),
        "parse teach": lambda journal, file="bags", begin=(), **files: teach_parser(
            folder / file, out, journal=journal, **files
        ),
        "parse serve": lambda journal: new_parse_service(Ospas.load(folder / "parser")),
    }


def services(folder: Path) -> Callable[[random.Random], None]:
    """Mutated requests to serve, teach and parse serve: an answer other than 500."""
    from taggers.serve.service import new_service
    from tests.fuzz.targets import Finding

    begin = prepared(folder)
    learner, *teachings = (begin[name](folder / name) for name in ("serve", "teach", "parse teach"))
    apps = {"serve": new_service(learner), "parse serve": begin["parse serve"](None)}
    apps |= {name: one.app().service() for name, one in zip(("teach", "parse teach"), teachings, strict=True)}
    for app in apps.values():
        app._socket.close()  # requests come from here
    sessions = {"teach": teachings[0].session, "parse teach": teachings[1].session}

    def case(rng: random.Random) -> None:
        name = rng.choice(sorted(apps))
        path, value = rng.choice(REQUESTS[name])
        if name in sessions and rng.random() < 0.9:
            ids = [*sessions[name].questions.items, *sessions[name].answers.current]
            given = {"id": rng.choice(ids), "key": str(rng.random())}
            value = {key: given.get(key, one) if one == "?" else one for key, one in value.items()}
        for _ in range(rng.randrange(3)):
            value = changed_json(rng, value)
        body = json.dumps(value).encode()
        if rng.random() < 0.2:
            body = mutated(rng, body)
        (folder / "input").write_bytes(f"{name} {path}\n".encode() + body)
        status = asyncio.run(send(apps[name], path, body))
        if status not in (200, 201, 204, 400, 403, 404, 409, 413, 422, 429):
            raise Finding(f"{name} {path} answers with {status}")

    return case


def journals(folder: Path) -> Callable[[random.Random], None]:
    """Mutated journals and labelled files, which a session continues, merges or begins with."""
    from tests.fuzz.targets import one_sentence

    begin = prepared(folder)
    journal, path = folder / "journal", folder / "input"
    samples: dict[str, bytes] = {}
    with contextlib.closing(begin["serve"](journal)) as learner:
        records = [{"X": [["Eva", "sings"]], "y": [["B-PER", None]], "key": "1"},
                   {"X": [["Eva"]], "y": [[["B-PER", "O"]]]}]  # fmt: skip
        for record in records:
            learner.journal.append(record)
    samples["serve"] = journal.read_bytes()
    for name, answer in (("teach", ["B-PER", "O", "O", "B-LOC"]), ("parse teach", 1)):
        journal.unlink()
        with begin[name](journal).session as session:
            for key, (id, item) in enumerate([*session.questions.items.items()]):
                value = answer[: len(item["tokens"])] if isinstance(answer, list) else answer
                session.answer("a", id, value, f"{key}")
            session.undo("a", "undo")
        samples[name] = journal.read_bytes()

    def case(rng: random.Random) -> None:
        name, how = rng.choice(sorted(samples)), rng.randrange(4)
        fresh, files = folder / "fresh", {}
        fresh.unlink(missing_ok=True)
        content = samples[name]
        if how == 3 and name != "serve":
            content = {"teach": rng.choice([TEXT, LABELLED, as_columns(3)]), "parse teach": BAGS}[name]
            files = {"begin": [path]} if name == "teach" and rng.random() < 0.5 else {"file": "input"}
        elif how == 2 and name != "serve":
            files = {"merge": [path]}
        lines = content.split(b"\n")
        at = rng.randrange(len(lines))
        if rng.random() < 0.6 and lines[at].startswith(b"{"):
            lines[at] = json.dumps(changed_json(rng, json.loads(lines[at]))).encode()
            content = b"\n".join(lines)
        else:
            content = mutated(rng, content)
        path.write_bytes(content)
        with one_sentence(ValueError, OSError):
            opened = begin[name](fresh if files else path, **files)
            session = getattr(opened, "session", opened)
            with contextlib.closing(session):
                if session is not opened:
                    use(opened, rng)

    return case


def use(teaching: Any, rng: random.Random) -> None:
    """Ask, answer and export, as the page does."""
    session = teaching.session
    question = session.question("a")
    if question is not None:
        session.answer("a", question["id"], None, f"{rng.random()}", again=True)
    session.doubts()
    session.stats()
    session.upcoming()
    session.tidy()
    teaching.save()
    for format in teaching.exports:
        teaching.exports[format].write(session.answers.given())
