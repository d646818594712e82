"""`structsvm serve`."""

from __future__ import annotations

from typing import Annotated

import typer

from structsvm.cli.errors import AllowHost, Host, Port, number, service_token, told_in_one_sentence


def serve(
    model: Annotated[
        str, typer.Argument(help="Model file, or the name of an included model: en-pos, en-ner, en or af.")
    ],
    more: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="NAME=FILE", help="Serve another model too, at the address /NAME."),
    ] = None,
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
    workers: Annotated[
        int, number(low=1, high=256, help="Number of processes that share the port; they cannot learn.")
    ] = 1,
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
            model, models=named(more), journal=journal, output=output, workers=workers, host=host, port=port,
            allow_hosts=allow_host or (), token=service_token(),
        )  # fmt: skip


def named(models: list[str] | None) -> dict[str, str]:
    """{name: file} from the values of `--model`."""
    found: dict[str, str] = {}
    for value in models or ():
        name, equals, file = value.partition("=")
        if not (name and equals and file) or name in found:
            raise ValueError(f"--model must be NAME=FILE with a name of its own, got {value!r}")
        found[name] = file
    return found
