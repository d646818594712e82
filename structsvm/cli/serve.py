"""`structsvm serve`."""

from __future__ import annotations

from typing import Annotated

import typer

from structsvm.cli.errors import AllowHost, Host, Port, service_token, told_in_one_sentence


def serve(
    model: Annotated[str, typer.Argument(help="Model file, or en-pos for English parts of speech.")],
    journal: Annotated[
        str | None,
        typer.Option(
            help="Learn from requests and store them in this file, which is read again after a restart."
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", help="Write the learned model to this file when the service stops."),
    ] = None,
    host: Host = "127.0.0.1",
    port: Port = 9090,
    allow_host: AllowHost = None,
) -> None:
    """Serve a model over HTTP: tag, learn, Label Studio, INCEpTION.

    structsvm serve people.ssvm --journal people.jsonl

    The service prints its address, which ends in a random token; requests without the token are refused. Set
    the environment variable STRUCTSVM_TOKEN to keep the token across restarts.
    """
    with told_in_one_sentence("taggers.serve.service", extra="serve") as work:
        work.serve(
            model, journal=journal, output=output, host=host, port=port, allow_hosts=allow_host or (),
            token=service_token(),
        )  # fmt: skip
