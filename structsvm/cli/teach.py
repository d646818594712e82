"""`structsvm teach`: label sentences on a page, while the tagger learns from each answer."""

from __future__ import annotations

import contextlib
import sys
import webbrowser
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from structsvm.cli.errors import (
    AllowHost,
    Encoding,
    Format,
    Host,
    Port,
    counted,
    number,
    service_token,
    told_in_one_sentence,
)
from structsvm.cli.flags import with_flags
from taggers.options import OPTIONS

FLAGS = ("template", "inference", "C")
Merge = Annotated[
    list[str] | None, typer.Option(help="Journal of a colleague: add its answers, and show Cohen's kappa.")
]
Journal = Annotated[str | None, typer.Option(help="File of your answers; by default next to the model.")]
Annotator = Annotated[str, typer.Option(help="Your name, for the journal.")]
NoBrowser = Annotated[
    bool, typer.Option("--no-browser", help="Print the address, but do not open a browser.")
]
Random = Annotated[float, number(high=1, help="Share of random questions, for an honest score.")]


def teach(
    task: Annotated[str, typer.Argument(help="pos, chunk, ner, or label for anything else.")],
    file: Annotated[str, typer.Argument(help="Sentences to label: plain text, columns or CoNLL-U.")],
    output: Annotated[str, typer.Option("-o", "--output", help="The model file to write.")],
    labels: Annotated[str, typer.Option(help="Labels to begin with, such as PER,ORG.")] = "",
    model: Annotated[str | None, typer.Option(help="Model to start from.")] = None,
    begin: Annotated[list[str] | None, typer.Option(help="Labelled file to learn first.")] = None,
    merge: Merge = None,
    merged: Annotated[
        str | None,
        typer.Option(help="Write the merged labels of all annotators with their probabilities, then exit."),
    ] = None,
    export: Annotated[
        list[str] | None,
        typer.Option(
            help="Write the model, and the labels to this file (.txt, .conllu, .jsonl or .spacy), then exit."
        ),
    ] = None,
    journal: Journal = None,
    annotator: Annotator = "",
    random: Random = 0.1,
    columns: Annotated[str | None, typer.Option(help="Input columns, such as 0,1.")] = None,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
    host: Host = "127.0.0.1",
    port: Port = 0,
    allow_host: AllowHost = None,
    no_browser: NoBrowser = False,
    **options: Any,
) -> None:
    """Label sentences on a page, while the tagger learns from each answer.

    structsvm teach ner raw.txt -o people.ssvm --labels PER,ORG

    Answers are saved in people.answers.jsonl. Run the same command again to continue. The address of
    the page ends in a random token; set the environment variable STRUCTSVM_TOKEN to keep it across restarts.
    """
    with told_in_one_sentence("taggers.teach.commands", extra="serve") as commands:
        given = {name: value for name, value in options.items() if value not in (None, [])}
        teaching = commands.teach(
            task, file, output, labels=[name for name in labels.split(",") if name.strip()], model=model,
            begin=begin or (), merge=merge or (), merged=merged, journal=journal, annotator=annotator,
            random=random, inputs=None if columns is None else columns.split(","),
            format=format, encoding=encoding, **given,
        )  # fmt: skip
        if merged and not export:
            with teaching.session:
                print("\n".join(teaching.notes), file=sys.stderr)
            return
        run(teaching, export or (), host=host, port=port, no_browser=no_browser, allow_hosts=allow_host or ())


def run(teaching: Any, exports: Sequence[str], **options: Any) -> None:
    """Write the exports and the model, or serve the page."""
    with teaching.session:
        teaching.check_exports(exports)
        for note in teaching.notes:
            print(note, file=sys.stderr)
        if not exports:
            show(teaching, **options)
            return
        for path in exports:
            written, left_out = teaching.write(path)
            also = f" ({left_out} with unknown tokens left out)" if left_out else ""
            print(f"{path}: {counted(written, 'answer')}{also}", file=sys.stderr)
        teaching.save()


def show(teaching: Any, *, no_browser: bool, **options: Any) -> None:
    """Serve the page until Ctrl-C, then say where the answers and the model are."""
    service = teaching.app().service(token=service_token(), **options)
    print(f"{service.shown_url} shows the page; Ctrl-C ends it", file=sys.stderr, flush=True)
    with contextlib.ExitStack() as stack:
        if not no_browser:
            with contextlib.suppress(OSError):  # of a folder that is read-only: use the printed address
                webbrowser.open(stack.enter_context(service.redirect(teaching.session.journal.path.parent)))
        service.run()
    answered = counted(len(teaching.session.answers.given()), "answer")
    print(f"{teaching.session.journal.path}: {answered}; run the same command to continue", file=sys.stderr)


command = with_flags(teach, [option for option in OPTIONS if option.name in FLAGS])
