"""Every message that docs/troubleshooting.md quotes is one that is produced."""

import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import scipy.sparse.linalg

from structsvm.files.persist import load_model, save_model
from taggers.commands import convert, evaluate, tag, train
from tests.taggers.sentences import as_columns

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
QUOTES = re.findall(r'^\*\*"(.*?)"\.\*\*', PAGE, re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("quotes")
    plain = as_columns(20)
    (path / "train").write_bytes(plain)
    convert(path / "train", path / "iob1", to="IOB1")
    (path / "mixed").write_bytes(plain + (path / "iob1").read_bytes())
    (path / "beside").write_bytes(plain.replace(b" O\n", b" NN\n"))
    (path / "uneven").write_text("the old DT B-NP\ncat NN I-NP\n")
    (path / "line").write_text("Anna sees the cat.\n")
    (path / "latin").write_bytes(b"caf\xe9 NN B-NP\n")
    (path / "items").write_text("B\tw=a\tp=b\nI\tw=c\tp=d\n\n")
    train("chunk", path / "train", path / "model")
    train("label", path / "items", path / "items.model")
    arrays, meta = load_model(path / "model")
    save_model(path / "old", arrays, {name: value for name, value in meta.items() if name != "layout"})
    (path / "cut").write_bytes((path / "model").read_bytes()[:-9])
    return path


def imported(folder):
    ignored = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    shutil.copytree(ROOT / "structsvm", folder / "sources" / "structsvm", ignore=ignored)
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import structsvm"],
        cwd=folder / "sources", capture_output=True, text=True, check=False,
    )  # fmt: skip
    raise ImportError(done.stderr)


def without_convergence(folder):
    def eigsh(*arguments, **options):
        raise scipy.sparse.linalg.ArpackNoConvergence("No convergence", [], [])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scipy.sparse.linalg.eigsh", eigsh)
        train("pos", folder / "train", folder / "new", label=1, inputs=[0])


CAUSES = {
    "3 columns where the lines before have 4": lambda f: train("chunk", f / "uneven", f / "new"),
    "columns do not look like those of the training file": lambda f: tag(f / "model", f / "line", f / "new"),
    "choose the column of the gold labels with --column": lambda f: evaluate("en-pos", f / "train"),
    "is an input and would be overwritten": lambda f: tag(f / "model", f / "train", f / "train"),
    "labels are out of place in IOB2": lambda f: train("chunk", f / "mixed", f / "new"),
    "phrase labels such as B-NP are mixed with other labels": lambda f: train(
        "chunk", f / "beside", f / "new"
    ),
    "the labels are in IOB1, the model's in IOB2": lambda f: evaluate(f / "model", f / "iob1"),
    "none of the model's features is in it": lambda f: tag(f / "items.model", f / "train", f / "new"),
    "byte 0xe9 is not valid UTF-8": lambda f: tag("en-pos", f / "latin", f / "new"),
    "has layout 1, but this version reads layout 2": lambda f: tag(f / "old", f / "train", f / "new"),
    "this model was saved without its training state": lambda f: train(
        "chunk", f / "train", f / "new", resume=f / "model"
    ),
    "Model file ... is damaged or incomplete": lambda f: tag(f / "cut", f / "train", f / "new"),
    "no word classes were found": without_convergence,
    "not compiled here": imported,
}  # fmt: skip


def test_each_quote_has_its_cause_here():
    assert list(CAUSES) == QUOTES


@pytest.mark.parametrize("quote", QUOTES)
def test_quotes_are_what_is_said(folder, quote):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            CAUSES[quote](folder)
        except (ValueError, ImportError) as error:
            said = str(error)
        else:
            said = "\n".join(str(warning.message) for warning in told)
    assert re.search(re.escape(quote).replace(r"\.\.\.", ".*"), said), said
