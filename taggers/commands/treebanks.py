"""`structsvm evaluate` with pipelines: trees, and all columns from raw text, as at CoNLL 2018."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from structsvm.files.errors import DataError
from taggers.commands.pipelines import (
    NO_TREES,
    TREE,
    pipeline_layers,
    read,
    tag_pipeline,
    wanted_columns,
)  # fmt: skip
from taggers.dependencies.checks import checked_heads
from taggers.formats._columns import Columns
from taggers.formats.conllu_checks import check_conllu
from taggers.formats.conllu_text import raw_text
from taggers.formats.files import open_columns
from taggers.formats.text import TextAsConllu
from taggers.model import TaggerModel
from taggers.pipeline import COLUMNS, Pipeline, open_model
from taggers.pipeline.layers import TREE_COLUMNS
from taggers.ud_scores import TAGS, TEXT, TREES, Score, universal_scores

NAMES = dict(zip(("upos", "xpos", "feats", "lemma"), TAGS, strict=True))


def evaluate_ud(
    model: Pipeline | TaggerModel | str | Path,
    file: str | Path,
    *,
    raw: bool = False,
    encoding: str = "utf-8",
    jobs: int = 1,
) -> dict[str, Score]:
    """The scores of the trees of a pipeline; none if the model or the file has no trees.

    Parameters
    ----------
    raw
        Start from the raw text of the file, and score tokens, sentences, words and all columns.
    """
    model = open_model(model)
    if not isinstance(model, Pipeline):
        if raw:
            raise ValueError("--raw needs a model of structsvm train ud")
        return {}
    if raw and model.upos is None:
        raise ValueError("--raw needs a model that predicts UPOS; this one reads it from the file")
    if model.parser is None and not raw:
        return {}
    columns = read(file, encoding)
    check_conllu(columns.data, columns.name)
    trees = model.parser is not None and checked_heads(columns, *TREE) is not None
    if not trees and model.upos is None:
        raise DataError(NO_TREES, columns.name)
    names = list(TREES) if trees else []
    if not raw:
        return universal_scores(columns.data, _tagged(model, file, encoding, jobs), names) if trees else {}
    filled = [NAMES[part] for part in model.parts if part not in TREE_COLUMNS and _has(columns, part)]
    names = [*TEXT, *filled, *names]
    return universal_scores(columns.data, _from_text(model, columns, jobs), names, name=columns.name)


def _has(columns: Columns, part: str) -> bool:
    return bool(set(columns.texts(1 + COLUMNS.index(part))) - {"_"})


def _tagged(model: Pipeline, file: str | Path, encoding: str, jobs: int) -> bytes:
    with open_columns(file, "conllu", encoding=encoding) as opened:
        columns = opened.read(wanted_columns(model, opened, False, text=False))
    return columns.format.write(columns, pipeline_layers(model, columns, False, jobs))


def _from_text(model: Pipeline, columns: Columns, jobs: int) -> bytes:
    """The raw text of a file as the model splits and tags it."""
    with TemporaryDirectory() as folder:
        text, output = Path(folder, "text"), Path(folder, "output")
        text.write_text(raw_text(columns.data).text, encoding="utf-8")
        tag_pipeline(model, text, output, format="text", jobs=jobs, text_as=TextAsConllu(model.split))
        return output.read_bytes()
