"""`structsvm serve`: models behind a local web service."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Mapping
from typing import Any

from structsvm.files.atomic import check_output
from structsvm.integrations.starlette import LocalService
from structsvm.options import check_rules
from taggers.conflicts import SERVE
from taggers.serve.access import Threads
from taggers.serve.api import Api
from taggers.serve.inception import Inception
from taggers.serve.label_studio import LabelStudio
from taggers.serve.layers import Model, open_served
from taggers.serve.learner import Learner
from taggers.serve.limits import MOST_BYTES, MOST_VALUES
from taggers.serve.metrics import Metrics
from taggers.serve.openapi import description

NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)


def new_service(
    model: Model, others: Mapping[str, Model] | None = None, *, workers: int = 1, **options: Any
) -> LocalService:
    """The service of a model, and of others below their names; the options are those of `LocalService`.

    Parameters
    ----------
    workers
        The number of processes that `run` will be called with.
    """
    metrics, threads = Metrics(by_process=workers > 1), Threads()
    routes = []
    for name, one in {"": model, **(others or {})}.items():
        api = Api(one, path=f"/{name}" if name else "", metrics=metrics, threads=threads)
        routes += [*api.routes(), *LabelStudio(api).routes()]
        if one.width == 1:  # INCEpTION sends only words
            routes += Inception(api).routes()
    routes.append(description(routes))
    return LocalService(routes, **{"max_bytes": MOST_BYTES, "max_values": MOST_VALUES, **options})


def serve(
    model: str,
    *,
    models: Mapping[str, str] | None = None,
    journal: str | None = None,
    output: str | None = None,
    workers: int = 1,
    **options: Any,
) -> None:
    """Serve models until Ctrl-C or SIGTERM, then write what the first has learned to `output`.

    Parameters
    ----------
    models
        More models by name.
    workers
        Processes that share the port; they cannot learn.
    """
    check_rules(SERVE, output=output, journal=journal, workers=workers)
    if output is not None:
        check_output(output, journal, model, *(models or {}).values())
    if journal is not None:
        check_output(journal, model, *(models or {}).values())
    first = open_served(model, journal)
    try:
        others = {_checked(name): open_served(path) for name, path in (models or {}).items()}
        service = new_service(first, others, workers=workers, **options)
        learned = f", {first.n_learned} sentences learned" if journal else ""
        print(f"{os.fspath(model)} at {service.shown_url} (Ctrl-C stops it{learned})", flush=True)
        gc.freeze()  # the models stay, so the garbage collector need not look through them again and again
        service.run(workers)
        if output is not None and isinstance(first, Learner):
            first.save(output)
    finally:
        first.close()


def _checked(name: str) -> str:
    """A name that can be the first part of a path, or ValueError."""
    taken = {"health", "metrics", "tag", "learn", "label-studio", "inception", "openapi.json"}
    if not NAME.fullmatch(name) or name in taken:
        raise ValueError(
            f"--model needs NAME=FILE, where NAME has letters, digits and _.- and is not that of a route; "
            f"got the name {name!r}"
        )
    return name
