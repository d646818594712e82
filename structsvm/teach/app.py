"""The page of a session of teaching, and the requests that it sends."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from structsvm.files.errors import DataError
from structsvm.integrations.starlette import LocalService, Refused, read_json
from structsvm.teach.session import Answered, Session

log = logging.getLogger("structsvm.teach")

PAGE = Path(__file__).with_name("page")
TYPES = {"index.html": "text/html", "teach.css": "text/css", "teach.js": "text/javascript",
         "icon.svg": "image/svg+xml"}  # fmt: skip
MOST_TAB = 64


class TeachApp:
    """The routes of a session.

    title: of the page. exports: the formats to export, as in `Teaching`, which also explains notes and
    conflicts. save: writes the model.
    """

    def __init__(
        self,
        session: Session,
        *,
        title: str,
        exports: Mapping[str, Any],
        save: Callable[[], None],
        notes: Sequence[str] = (),
        conflicts: Sequence[dict[str, Any]] = (),
    ) -> None:
        self.session, self.title, self.notes = session, title, list(notes)
        self.exports, self.save = exports, save
        self.conflicts = list(conflicts)
        self._work = threading.Event()
        self._ended = threading.Event()

    def service(self, **options: Any) -> LocalService:
        """The service that shows the page; `options` are those of `LocalService`."""
        posts = {
            "question": self.question, "answer": self.answer, "undo": self.undo, "name": self.name,
            "explain": self.explain, "alternatives": self.alternatives, "doubts": self.doubts,
            "save": self.saved,
        }  # fmt: skip
        routes = [
            Route("/", _file("index.html")),
            *[Route(f"/{name}", _file(name)) for name in TYPES],
            *[Route(f"/{name}", self._post(work), methods=["POST"]) for name, work in posts.items()],
            Route("/export/{format}", self.exported),
        ]
        return LocalService(routes, lifespan=self.lifespan, **options)

    def _post(self, work: Callable[[dict[str, Any]], Any]) -> Any:
        async def endpoint(request: Request) -> Response:
            body = await read_json(request)
            try:
                found = await run_in_threadpool(work, body)
            except OSError as error:
                what = f"the answers or the model cannot be written ({error.strerror}); nothing was saved"
                raise Refused(what, 507) from None
            self._work.set()
            return JSONResponse(found)

        return endpoint

    @asynccontextmanager
    async def lifespan(self, app: Any) -> AsyncIterator[None]:
        """Run background work in a thread between answers; save the model at the end."""
        worker = threading.Thread(target=self._tidy, daemon=True)
        worker.start()
        try:
            yield
        finally:
            self._ended.set()
            self._work.set()
            await asyncio.to_thread(worker.join)
            await asyncio.to_thread(self.save)

    def _tidy(self) -> None:
        self._work.set()
        while not self._ended.is_set():
            self._work.wait()
            self._work.clear()
            try:
                while not self._ended.is_set() and self.session.tidy():
                    self._ended.wait(0.002)  # answers go first
            except Exception:
                log.exception("ranking or rebuilding failed; the next answer starts it again")

    # -- requests -------------------------------------------------------------------------------

    def _state(self, question: dict[str, Any] | None) -> dict[str, Any]:
        session = self.session
        return {
            "title": self.title, "task": session.learner.task, "kind": session.learner.kind,
            "names": session.learner.names(), "formats": list(self.exports), "notes": self.notes,
            "question": question, "upcoming": session.upcoming(), "stats": session.stats(),
        }  # fmt: skip

    def question(self, body: dict[str, Any]) -> dict[str, Any]:
        """The question of a tab; `id` asks for a certain one, `next` for another one."""
        id = body.get("id")
        return self._state(self.session.question(_tab(body), None if id is None else _text(body, "id")))

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """Record an answer; return the next question."""
        tab = _tab(body)
        try:
            self.session.answer(
                tab, _text(body, "id"), body.get("value"), _text(body, "key"), again=body.get("again") is True
            )
        except Answered as error:
            raise Refused(str(error), 409) from None
        return self._state(self.session.question(tab))

    def undo(self, body: dict[str, Any]) -> dict[str, Any]:
        """Undo the last answer; return its question."""
        tab = _tab(body)
        shown = self.session.undo(tab, _text(body, "key"))
        return self._state(shown or self.session.question(tab))

    def name(self, body: dict[str, Any]) -> dict[str, Any]:
        """Add a label."""
        tab = _tab(body)
        self.session.add_name(_text(body, "name"), _text(body, "key"))
        return self._state(self.session.question(tab))

    def explain(self, body: dict[str, Any]) -> dict[str, Any]:
        """Why the model guesses what it does."""
        return self.session.explain(_text(body, "id"), body.get("at"))

    def alternatives(self, body: dict[str, Any]) -> dict[str, Any]:
        """The best answers."""
        return {"found": self.session.alternatives(_text(body, "id"))}

    def doubts(self, body: dict[str, Any]) -> dict[str, Any]:
        """The answers to review: those that differ from a colleague's, then those that the model doubts."""
        current = self.session.answers.current
        conflicts = [
            one for one in self.conflicts
            if one["id"] in current and current[one["id"]].why != "review"
        ]  # fmt: skip
        return {"found": [*conflicts, *self.session.doubts()]}

    def saved(self, body: dict[str, Any]) -> dict[str, Any]:
        """Write the model file."""
        self.save()
        return {"saved": True}

    async def exported(self, request: Request) -> Response:
        """The answers as a file."""
        format = request.path_params["format"]
        if format not in self.exports:
            raise Refused(f"the format must be one of {', '.join(self.exports)}", 404)

        def written() -> bytes:
            with self.session.lock:
                given = self.session.answers.given()
            data: bytes = self.exports[format].write(given)[0]
            return data

        name = f"labelled.{self.exports[format].ending}"
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        content = await run_in_threadpool(written)
        return Response(content, media_type="application/octet-stream", headers=headers)


def _file(name: str) -> Any:
    content = (PAGE / name).read_bytes()

    async def endpoint(request: Request) -> Response:
        return Response(content, media_type=TYPES[name])

    return endpoint


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise DataError(f"{name} must be a string")
    return value


def _tab(body: dict[str, Any]) -> str:
    tab = _text(body, "tab")
    if not 0 < len(tab) <= MOST_TAB:
        raise DataError(f"tab must have 1 to {MOST_TAB} characters")
    return tab
