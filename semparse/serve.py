"""`structsvm parse serve`: a semantic parser behind a local web service."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from semparse.examples import as_tokens
from semparse.ospas import Ospas
from structsvm.integrations.starlette import LocalService, Refused, check_fields, field, read_json

MOST_CHARACTERS = 10_000
MOST_WORDS = 200  # of a sentence: parsing takes longer than in proportion to them
MOST_MEANINGS = 100


def new_service(parser: Ospas, **options: Any) -> LocalService:
    """The service of a parser; the options are those of `LocalService`."""

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "UP", "model_class": "Ospas"})

    async def parse(request: Request) -> Response:
        body = await read_json(request)
        check_fields(body, "text", "n")
        text = field(body, "text", str)
        n = field(body, "n", int) if "n" in body else 1
        if not 1 <= n <= MOST_MEANINGS:
            raise Refused(f"n must be from 1 to {MOST_MEANINGS}")
        if len(text) > MOST_CHARACTERS:
            raise Refused(f"text must not have more than {MOST_CHARACTERS} characters")
        try:
            tokens = as_tokens(text)
            if len(tokens) > MOST_WORDS:
                raise Refused(f"text must not have more than {MOST_WORDS} words")
            parses = await asyncio.to_thread(parser.parse, tokens, n)
        except ValueError as error:
            raise Refused(str(error)) from None
        return JSONResponse({"parses": [one.to_json() for one in parses]})

    routes = [Route("/", health), Route("/health", health), Route("/parse", parse, methods=["POST"])]
    return LocalService(routes, **options)


def serve(model: str, **options: Any) -> None:
    """Serve a parser until Ctrl-C or SIGTERM."""
    service = new_service(Ospas.load(model), **options)
    print(f"{model} at {service.shown_url} (Ctrl-C stops it)", flush=True)
    service.run()
