"""Generate the pages that document the program's own texts: `python docs/generate.py`.

reference/command-line.md shows the help of every command, reference/options.md the table of training options,
and reference/model-fields.md the fields of model files. A test compares them with the program.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
OPTIONS = """# Options

The first table lists the options of the taggers, with their defaults for each preset; the second
table those of the semantic parser. `python -m taggers.options` and `python -m semparse.options`
print them.

"""


def commands() -> Iterator[list[str]]:
    """The words of each command; the commands of a group follow the group."""
    import typer.main

    from structsvm.cli.app import app

    def below(command: Any, words: list[str]) -> Iterator[list[str]]:
        yield words
        for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
            yield from below(command.get_command(None, name), [*words, name])

    yield from below(typer.main.get_command(app), [])


def command_line() -> str:
    """The page of the command line: `--help` of every command at 80 columns."""
    from typer.testing import CliRunner

    from structsvm.cli.app import app

    parts = [
        "# Command line",
        "This page shows the help of every command, as `structsvm COMMAND --help` prints it. The exit\n"
        "codes are 0 for success, 1 for bad data (`file:line: what is wrong; what to do`), 2 for wrong\n"
        "usage or an unusable model file, 130 if interrupted with Ctrl-C, and 141 if the reader of a pipe\n"
        "(`| head`) stopped early.",
    ]
    for words in commands():
        result = CliRunner().invoke(
            app, [*words, "--help"], prog_name="structsvm", env={"COLUMNS": "80", "TERM": "dumb"}
        )
        if result.exit_code != 0:
            raise RuntimeError(f"structsvm {' '.join(words)} --help failed: {result.output}")
        name = " ".join(["structsvm", *words])
        parts.append(f"## {name}\n\n```text\n{result.output.strip()}\n```")
    return "\n\n".join(parts) + "\n"


def options() -> str:
    """The page of the options of taggers and parsers."""
    from semparse.options import table as parser_table
    from taggers.options import table

    return f"{OPTIONS}## Taggers\n\n{table()}\n## Semantic parsers\n\n{parser_table()}"


FIELDS = """# Fields of model files

This page lists what each kind of [model file](model-files.md) contains. Arrays have a data type and
a shape; every other field is a key of `meta`. Loading checks the types, shapes and bounds of all
fields, and then that they fit together.
"""


def model_fields() -> str:
    """The page of the fields: the tables by which model files are written, read and checked."""
    from semparse import ospas, schema, thesis
    from semparse.concepts import labeller
    from semparse.latent import alignment, features, model
    from structsvm import classifier_file as classifiers
    from structsvm.binary import _file as binary
    from structsvm.files import sparse_weights
    from taggers import model_file as taggers
    from taggers import splitter
    from taggers.dependencies import parser
    from taggers.features import knowledge, space
    from taggers.labels import space as labels
    from taggers.pipeline import layers as pipeline

    parts = {
        "Taggers: labels": (labels.LABELS, ""),
        "Taggers: features": (space.FEATURES, ""),
        "Taggers: weights, first those of previous labels, then those of features": (
            sparse_weights.FIELDS,
            "",
        ),
        "Taggers: training": (taggers.TRAINING, ""),
        "Taggers: word classes": (knowledge.CLASSES, "classes.NAME."),
        "Taggers: gazetteers": (knowledge.GAZETTEER, "gazetteers.NAME."),
        "Taggers: word vectors": (knowledge.VECTORS, "vectors.NAME."),
        "Pipelines": (pipeline.FIELDS + pipeline.KEYS, ""),
        "Pipelines: the splitter": (splitter.FIELDS, "split."),
        "Pipelines: `parser`": (parser.META, "parse-"),
        "Multiclass classifiers": (classifiers.FIELDS, ""),
        "Multiclass classifiers: linear": (classifiers.LINEAR, ""),
        "Multiclass classifiers: kernels": (classifiers.KERNEL, ""),
        "Binary classifiers": (binary.FIELDS, ""),
        "Binary classifiers: kernel machines": (binary.KERNEL_MACHINE + binary.MACHINE, ""),
        "Binary classifiers: SGDQN": (binary.SGDQN, ""),
        "Semantic parsers": (ospas.FIELDS, ""),
        "Semantic parsers: `schema`": (schema.SEEN, ""),
        "Semantic parsers: `model` of the latent parser": (model.FIELDS, ""),
        "Semantic parsers: `alignment` in `model`": (alignment.FIELDS, "alignment."),
        "Semantic parsers: weights in `model`": (features.FIELDS, "NAME."),
        "Semantic parsers: `model` of the thesis": (thesis.FIELDS, ""),
        "Concept labellers": (labeller.FIELDS + labeller.NETWORK, ""),
    }
    return FIELDS + "".join(
        f"\n## {title}\n\n{table.markdown(prefix)}" for title, (table, prefix) in parts.items()
    )


PAGES = {
    "reference/command-line.md": command_line,
    "reference/options.md": options,
    "reference/model-fields.md": model_fields,
}


def main() -> None:
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
