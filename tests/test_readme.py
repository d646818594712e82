"""Every Python block of the README and of the docs runs, and type-checks."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
PAGES = [README, *sorted((README.parent / "docs").glob("*.md"))]
FOUND = [
    (f"{page.name} {k}", block)
    for page in PAGES
    for k, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
]
BLOCKS = [block for _, block in FOUND]


@pytest.mark.parametrize("block", BLOCKS, ids=[name for name, _ in FOUND])
def test_block_runs(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {"__name__": "readme"})


def test_readme_shows_a_users_own_problem_in_under_25_lines() -> None:
    own = next(block for block in BLOCKS if "(Problem)" in block)
    assert len(own.splitlines()) < 25


def test_readme_blocks_type_check(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    for number, block in enumerate(BLOCKS):
        (tmp_path / f"block_{number}.py").write_text(block, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--check-untyped-defs", *map(str, sorted(tmp_path.iterdir()))],
        cwd=README.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
