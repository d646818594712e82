"""`structsvm serve`: a model behind a local web service."""

from __future__ import annotations

import gc
import os
from collections.abc import Collection
from typing import Any

from structsvm.files.atomic import check_output
from structsvm.integrations.starlette import LocalService
from taggers.serve.api import Api
from taggers.serve.inception import Inception
from taggers.serve.label_studio import LabelStudio
from taggers.serve.learner import Learner
from taggers.serve.limits import MOST_BYTES


def new_service(learner: Learner, **options: Any) -> LocalService:
    """The service of a model; the options are those of `LocalService`."""
    api = Api(learner)
    routes = [*api.routes(), *LabelStudio(api).routes()]
    if learner.width == 1:  # INCEpTION sends only words
        routes += Inception(api).routes()
    return LocalService(routes, **{"max_bytes": MOST_BYTES, **options})


def serve(
    model: str,
    *,
    journal: str | None = None,
    output: str | None = None,
    host: str = "127.0.0.1",
    port: int = 9090,
    token: str | None = None,
    allow_hosts: Collection[str] = (),
) -> None:
    """Serve a model until Ctrl-C or SIGTERM, then write what it has learned to `output`."""
    if output is not None:
        if journal is None:
            raise ValueError("--output needs --journal: without a journal the service does not learn")
        check_output(output, journal, model)
    if journal is not None:
        check_output(journal, model)
    learner = Learner(model, journal)
    try:
        service = new_service(learner, host=host, port=port, token=token, allow_hosts=allow_hosts)
        learned = f", {learner.n_learned} sentences learned" if journal else ""
        print(f"{os.fspath(model)} at {service.url} (Ctrl-C stops it{learned})", flush=True)
        gc.freeze()  # the model stays, so the garbage collector need not look through it again and again
        service.run()
        if output is not None:
            learner.save(output)
    finally:
        learner.close()
