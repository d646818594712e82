"""The site builds without warnings, and its generated pages are current."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from structsvm import KernelSVMStruct, LaRank, LaRankClassifier
from structsvm.binary import SGDQNClassifier

ROOT = Path(__file__).parents[1]


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generate = load("generate")


@pytest.mark.parametrize("page", generate.PAGES)
def test_generated_page_is_current(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert generate.PAGES[page]() == text, "run `python docs/generate.py`"


def test_site_builds_without_warnings(tmp_path: Path) -> None:
    for module in ("mkdocs", "material", "mkdocstrings_handlers.python"):
        pytest.importorskip(module, reason="needs the extra docs: pip install 'structsvm-nlp[docs]'")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "reference" / "api" / "structsvm" / "index.html").read_text(encoding="utf-8")
    assert "partial_fit" in page
    assert "fonts.googleapis" not in page
    tables = [table.partition("</table>")[0] for table in page.split("<table")[1:]]
    for cls in (LaRank, KernelSVMStruct, LaRankClassifier, SGDQNClassifier):
        assert any(all(f"<code>{name}</code>" in table for name in cls.OPTIONS) for table in tables), cls
