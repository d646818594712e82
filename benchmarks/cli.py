"""The command `python -m benchmarks reproduce`: a thin function over `benchmarks.reproduce`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from structsvm.cli.errors import told_in_one_sentence

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
def reproduce(
    names: Annotated[list[str] | None, typer.Argument(help="Tables and figures, such as table-5.5.")] = None,
    show: Annotated[bool, typer.Option("--list", help="List all names and the corpora they need.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Run all whose corpora are installed; takes hours.")
    ] = False,
    quick: Annotated[bool, typer.Option(help="Few seeds and small data sets; takes minutes.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted run; finished measurements are reused.")
    ] = False,
    corpora: Annotated[
        str | None, typer.Option(help="Folder of the corpora; default: $STRUCTSVM_CORPORA.")
    ] = None,
    output: Annotated[
        str, typer.Option("-o", "--output", help="Folder for Markdown, JSON and figures.")
    ] = "reproduced",
) -> None:
    """Run experiments of the papers and compare their numbers with ours.

    python -m benchmarks reproduce --list

    python -m benchmarks reproduce table-5.5 figure-5.3 --corpora ~/corpora

    python -m benchmarks reproduce --all --quick
    """
    with told_in_one_sentence("benchmarks.reproduce") as work:
        from benchmarks.experiment import experiments
        from benchmarks.harness import drop_measurements, keep_measurements
        from corpora.registry import ENVIRONMENT_VARIABLE
        from structsvm.files.errors import DataError

        if corpora is not None:
            os.environ[ENVIRONMENT_VARIABLE] = os.path.abspath(corpora)
        if show:
            for name, entry in experiments().items():
                needs = f" [{', '.join(entry.corpora)}]" if entry.corpora else ""
                print(f"{name:20} {entry.what}{needs}")
            return
        if everything == bool(names):
            raise ValueError("name experiments or pass --all; --list shows the names")
        wanted = list(experiments().values()) if everything else work.chosen(names or ())
        if os.path.exists(output) and not os.path.isdir(output):
            raise ValueError(f"{output} is a file; -o must be a folder")
        absent = {entry.name: work.missing_corpora(entry) for entry in wanted}
        missing = dict.fromkeys(sentence for found in absent.values() for sentence in found)
        if missing and not everything:
            raise DataError("\n".join(missing))
        os.makedirs(output, exist_ok=True)
        keep_measurements(Path(output) / "measured.jsonl", resume=resume)
        failed = [name for name, found in absent.items() if found]
        for entry in wanted:
            if entry.name in failed:
                continue
            try:
                print(work.reproduce(entry, output, quick=quick), flush=True)
            except RuntimeError as error:  # run the others all the same
                print(f"error: {entry.name}: {error}", file=sys.stderr)
                failed.append(entry.name)
        if failed:
            told = "".join(f"\n{sentence}" for sentence in missing)
            raise DataError(f"not reproduced: {', '.join(failed)}{told}")
        drop_measurements()
