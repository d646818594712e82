"""Every block of code in the README and the docs runs, and its Python type-checks; the tables are current."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.taggers.sentences import as_columns

ROOT = Path(__file__).parents[1]

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# The blocks of these tutorials build on each other, in one folder; all other blocks run alone.
TUTORIALS = [ROOT / "docs" / "tutorials" / f"{name}.md" for name in ("tagging", "spacy", "parsing")]
SHELL = [page for page in PAGES if page not in TUTORIALS and "```sh" in page.read_text(encoding="utf-8")]


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """The language and code of each block, and the output that an indented block after it shows."""
    found = re.findall(
        r"```(python|sh)\n(.*?)```\n(?:\n((?:    [^\n]*\n)+))?", page.read_text(encoding="utf-8"), re.DOTALL
    )
    return [(language, code, textwrap.dedent(shown)) for language, code, shown in found]


ALONE = [
    pytest.param(code, shown, id=f"{name(page)} {k}")
    for page in PAGES
    if page not in TUTORIALS
    for k, (language, code, shown) in enumerate(blocks(page))
    if language == "python"
]
PYTHON = [code for page in PAGES for language, code, _ in blocks(page) if language == "python"]


@pytest.mark.parametrize(("code", "shown"), ALONE)
def test_block_runs_and_prints_what_the_page_shows(
    code: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    assert not shown or capsys.readouterr().out == shown


def test_the_readme_shows_an_output() -> None:
    assert any(shown for _, _, shown in blocks(PAGES[0]))


def as_conllu(columns: str) -> str:
    """Words with parts of speech as a treebank."""
    upos = {"N": "NOUN", "V": "VERB", "D": "DET", "I": "ADP", "J": "ADJ"}
    sentences = [[line.split() for line in part.split("\n")] for part in columns.strip().split("\n\n")]
    return "".join(
        "".join(
            f"{number}\t{word}\t{word.lower()}\t{upos.get(tag[0], 'X')}\t{tag}\t"
            f"{'Number=Sing' if tag[0] == 'N' else '_'}\t_\t_\t_\t_\n"
            for number, (word, tag, *_) in enumerate(sentence, 1)
        )
        + "\n"
        for sentence in sentences
    )


def as_iob2(columns: str) -> str:
    """Made-up sentences in the columns of Universal NER: number, word, label and two more."""
    sentences = [[line.split() for line in part.split("\n")] for part in columns.strip().split("\n\n")]
    return "".join(
        f"# sent_id = {i}\n"
        + "".join(f"{n}\t{word}\t{label}\t-\t-\n" for n, (word, *_, label) in enumerate(sentence, 1))
        + "\n"
        for i, sentence in enumerate(sentences)
    )


# For blocks that fail halfway: a server would keep the pipes open, and the test would wait forever.
STOP_SERVERS = "trap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n"
SIMULATED = re.compile(r"(simulate .*-n )[0-9]{3,}")


@pytest.mark.parametrize("page", TUTORIALS + SHELL, ids=name)
def test_page_runs_from_its_beginning_to_its_end(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All blocks of a tutorial run in order, on fewer simulated data; of other pages, those for the shell."""
    if "spacy" in page.read_text(encoding="utf-8"):
        pytest.importorskip("spacy")
    monkeypatch.chdir(tmp_path)
    for name, n in (("train", 60), ("dev", 15), ("test", 15), ("input", 15), ("more", 15)):
        Path(f"{name}.txt").write_bytes(as_columns(n, seed=len(name)))
        Path(f"{name}.conllu").write_text(as_conllu(as_columns(n, seed=len(name)).decode()))
    Path("train.iob2").write_text(as_iob2(as_columns(60, seed=0).decode()))
    for language, code, _ in blocks(page):
        if language == "python":
            if page in TUTORIALS:
                exec(compile(code, page.name, "exec"), {"__name__": "page"})
            continue
        code = SIMULATED.sub(r"\g<1>150", code)
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        done = subprocess.run(
            ["bash", "-euc", STOP_SERVERS + code],
            env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{code}\n{done.stderr}"


LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(#[^)\s]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, _ in LINK.findall(page.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (page.parent / target).exists(), target


def test_a_page_shows_a_users_own_problem_in_under_25_lines() -> None:
    own = [code for code in PYTHON if "(Problem)" in code]
    assert min(len(code.splitlines()) for code in own) < 25


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "<!-- table:" in page.read_text(encoding="utf-8")], ids=name
)
def test_tables_are_those_of_the_kept_results(page: Path) -> None:
    from benchmarks.pages import filled

    text = page.read_text(encoding="utf-8")
    assert filled(text) == text, "run `python -m benchmarks pages`"


def test_picture_is_that_of_the_kept_results() -> None:
    from benchmarks.pages import peers
    from benchmarks.picture import PICTURE, picture

    assert picture(peers()["entries"]) == PICTURE.read_text(encoding="utf-8"), (
        "run `python -m benchmarks picture`"
    )


def test_blocks_type_check(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    for number, code in enumerate(PYTHON):
        (tmp_path / f"block_{number}.py").write_text(code, encoding="utf-8")
    done = subprocess.run(
        [
            sys.executable, "-m", "mypy", "--check-untyped-defs", "--allow-untyped-defs",
            *map(str, sorted(tmp_path.iterdir())),
        ],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
