"""Docs, help, docstrings and error messages avoid the turns of phrase that readers stumble over.

`BANNED` lists each turn as a pattern, a sentence that contains it and a rewrite. Code, tables of figures,
comments and the names of things are not checked. To check one file: `pytest tests/test_voice.py -k NAME`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("structsvm", "taggers", "semparse", "corpora", "benchmarks")


class Turn(NamedTuple):
    """A banned turn of phrase: what matches it, an example, and the same in plain English."""

    pattern: str
    bad: str
    good: str


BANNED = [
    Turn(
        r"\b(?:comes?|came|coming|brings?|bring|brought) along\b",
        "An English model comes along.",
        "An English model is included.",
    ),
    Turn(
        r"\b(?:go|goes|going|gone|went) on\b(?! sale)",
        "A model is not gone on with on fewer columns.",
        "A model cannot be resumed on fewer columns.",
    ),
    Turn(
        r"\b(?:is|are|was|were|be|been|being) told\b|\btells? of\b",
        "A peer that fails is told in the table.",
        "The table reports peers that fail.",
    ),
    Turn(
        r"(?<!there )\b(?:is|are) no (?!longer\b|more\b|less\b|fewer\b|other\b|such\b|better\b|worse\b"
        r"|different\b|larger\b|smaller\b|greater\b|faster\b|slower\b|need\b|reason\b|doubt\b|guarantee\b)\w+",
        "A string is no sentence.",
        "A string is not a sentence; there is no default, and no more than one.",
    ),
    Turn(
        r"(?<!other )\b(?:works?|worked|working) on\b"
        r"(?! (?:Linux|macOS|Windows|Python|CPython|PyPy|any|both|all|every)\b)",
        "Old examples are worked on again.",
        "Old examples are visited again; it works on Linux.",
    ),
    Turn(r"\banew\b", "Train it anew.", "Retrain it."),
    Turn(
        r"\bbeside\b", "Sentences beside candidate meanings.", "Sentences with candidate meanings, besides."
    ),
    Turn(r"\bof (?:its|their) own accord\b", "It stops of its own accord.", "It stops automatically."),
    Turn(r"\bas it were\b", "It is, as it were, a cache.", "It acts as a cache."),
    Turn(
        r"\bis, is\b|\bare, are\b",
        "What a file is, is seen from its first lines.",
        "The format is detected from the first lines.",
    ),
    Turn(
        r"\b(?:has|have) to be said\b|\bor said by\b", "The encoding has to be said.", "Specify the encoding."
    ),
    Turn(
        r"\bwhere there (?:is|are) none\b|\bwhere (?:it|they) (?:has|have) none\b",
        "An empty list where there is none.",
        "An empty list if there are no labels.",
    ),
    Turn(
        r"\b(?:broken|broke|breaks?) off\b",
        "When a run is broken off, it is kept.",
        "When a run is interrupted, it is kept.",
    ),
    Turn(
        r"\b(?:is|are) passed over\b|\bto pass over\b",
        "White space is passed over.",
        "White space is skipped.",
    ),
    Turn(
        r"\b(?:is|are|not|never) (?:not )?to be (?:seen|found|had)\b|\bcannot be had\b|\bcan be had\b",
        "The gain is not to be seen.",
        "The gain does not appear.",
    ),
    Turn(
        r"\b(?:most|to|than|of|after) so many\b", "Keep at most so many vectors.", "Keep at most n vectors."
    ),
    Turn(r"\bnothing of\b", "Nothing of the corpora is part of it.", "It contains no corpus data."),
    Turn(
        r"\bwhat stands\b|\bstands? beside\b",
        "What stands in the config can be changed.",
        "You can change the settings in the config.",
    ),
    Turn(
        r"\b(?:labels?|words?|labelling|classes|features?) (?:may|can|could) come\b",
        "New labels may come at any time.",
        "New labels can appear at any time.",
    ),
    Turn(r"\bsmall letters\b", "Names are in small letters.", "Names are in lower case."),
    Turn(
        r"\b(?:column|sentence|label|word|example|pass|pattern|row|token|file) more\b(?! than)",
        "Learn from one sentence more.",
        "Learn from one more sentence; one token more than that.",
    ),
    Turn(r"\bweightiest\b", "Features, weightiest first.", "Features, largest weight first."),
    Turn(r"\b(?:is|are) heard\b", "Ctrl-C is heard at once.", "Ctrl-C stops training immediately."),
    Turn(r"\bto the bit\b", "A seed repeats to the bit.", "A seed repeats bit for bit."),
    Turn(
        r"(?<!to )\b(?:tokens?|sentences?|words?|rows?|instructions|bytes?|searches|labels?|one|weights?"
        r"|steps?|[\d.]+ ms)"
        r" an? (?:second|token|sentence|line|class|word|row|label|weight|example|pattern|pass)\b",
        "It tags 400,000 tokens a second.",
        "It tags 400,000 tokens per second.",
    ),
    Turn(
        r"\bwithout gold\b|\bno gold for\b",
        "Tokens without gold are skipped.",
        "Unlabelled tokens are skipped.",
    ),
    Turn(
        r"\b(?:nothing|none|it|they|that) need be\b",
        "Nothing need be imported.",
        "You do not need to import anything; that need not be so.",
    ),
    Turn(
        r"\bprocess(?:es)? of (?:its|their) own\b",
        "Each runs in a process of its own.",
        "Each runs in its own process.",
    ),
    Turn(
        r"\b(?:how|what|where|when|if|that|as|which) one (?:sees|knows|wants|may|must|can|would|says)\b",
        "How one sees that it is done.",
        "How you see that it is done.",
    ),
    Turn(
        r"\bas (?:it comes|they come|it came|they are known)\b",
        "The presets as they come.",
        "The presets with their defaults.",
    ),
    Turn(r"\b(?:is|are) let go\b", "Cached rows are let go.", "Cached rows are released."),
    Turn(
        r"\b(?:is|are|be) dealt into\b", "Sentences are dealt into parts.", "Sentences are split into parts."
    ),
    Turn(
        r"\bas far as it has come\b|\bas far as (?:it|they) got\b",
        "The model stays as far as it has come.",
        "The partially trained model is kept.",
    ),
    Turn(
        r"\b(?:take|takes|took|taken|taking) (?:them |it )?up (?:a run|again|one by one|one after)\b",
        "Take up a run.",
        "Resume a run; it takes up space.",
    ),
    Turn(
        r"\bas (?:[\w./-]+ ){1,3}tells?\b(?! you)",
        "They can be read, as docs/formats.md tells.",
        "They can be read, as docs/formats.md explains.",
    ),
    Turn(
        r"\bwas not looked into\b|\bwere not looked into\b",
        "Why was not looked into.",
        "We did not investigate why.",
    ),
    Turn(r"\b(?:is|are) gone\b", "The training state is gone.", "The training state has been discarded."),
    Turn(
        r"\b(?:is|are) not there\b|\b(?:is|are) there anyway\b",
        "The page is not there.",
        "The page does not exist.",
    ),
    Turn(r"\bfar(?:ther|thest)\b", "It looks farther back.", "It looks further back."),
    Turn(
        r"\bin its place\b|\bat its place\b", "CoNLL-U: in its place.", "In CoNLL-U the column is filled in."
    ),
    Turn(
        r"\bmade (?:up )?of (?:it|them) by\b|\bmakes? of (?:it|them)\b",
        "What the parser makes of it.",
        "The parse.",
    ),
    Turn(
        r"\b(?:words?|columns?|rows?|symbols?) of (?:its|their) own\b",
        "Many relations have no word of their own.",
        "No word names many of the relations.",
    ),
    Turn(r"\bto the (?:letter|byte)\b", "It is Algorithm 3 to the letter.", "It is exactly Algorithm 3."),
    Turn(
        r"\blooks? at the keyboard\b",
        "Steps between two looks at the keyboard.",
        "Steps between two checks for Ctrl-C.",
    ),
    Turn(r"\bPython door\b", "The same through the Python door.", "The same problem in Python."),
    Turn(
        r"\bnothing to learn from\b",
        "The data set is empty: there is nothing to learn from.",
        "The data set is empty; pass at least one example.",
    ),
    Turn(
        r"[;:] give (?:a|an|the|one|it)\b",
        "There is no folder; give a file name.",
        "There is no folder; specify a file name.",
    ),
    Turn(
        r"\bas [\w' ]{1,20} (?:has|have) (?:it|them)\b",
        "The corpus as WASP has it.",
        "The corpus as distributed with WASP.",
    ),
    Turn(r"\bevery so many\b", "Regularize every so many steps.", "Regularize every n steps."),
    Turn(r"\bwhole numbers?\b", "It must be a whole number.", "It must be an integer."),
    Turn(r"\btime stamps?\b", "Events with time stamps.", "Events with timestamps."),
    Turn(
        r"\bmust be [^.;\n]*, not VALUE",
        "prune must be at least 0, not VALUE",
        "prune must be at least 0, got VALUE",
    ),
    Turn(
        r"\bsurest of\b", "The errors that the model is surest of.", "The most confident errors of the model."
    ),
    Turn(
        r"\bgames? at hand\b",
        "We chose it with all games at hand.",
        "We chose it with knowledge of all games.",
    ),
    Turn(
        r"\bwould pass for\b",
        "A string would pass for a list of letters.",
        "A string would be treated as a list of letters.",
    ),
    Turn(r"\bso much for\b|\bnobody knows\b|\bnobody's\b", "Nobody knows which.", "It is unknown which."),
    Turn(r"\bin vain\b", "Actions drawn in vain.", "Actions drawn without success."),
    Turn(r"\bcompare orders\b", "Compare orders, not digits.", "Compare rankings, not digits."),
]
OPENING = Turn(
    r"^What\b", "What trainings have in common.", "Training-curve points shared by all optimizers."
)
PATTERNS = [(re.compile(turn.pattern, re.IGNORECASE), turn) for turn in BANNED]


def complaints(text: str) -> list[str]:
    """Each banned turn in a text, with a few words around it and an example of a rewrite."""
    text = " ".join(text.split())
    return [
        f"...{text[max(0, found.start() - 40) : found.end() + 40]}...\n    "
        f"say it plainly: {turn.bad!r} becomes {turn.good!r}"
        for pattern, turn in PATTERNS
        for found in pattern.finditer(text)
    ]


@pytest.mark.parametrize("turn", [*BANNED, OPENING], ids=lambda turn: turn.bad)
def test_pattern_matches_its_bad_example_and_not_its_rewrite(turn: Turn) -> None:
    assert re.search(turn.pattern, turn.bad, re.IGNORECASE)
    assert not re.search(turn.pattern, turn.good, re.IGNORECASE)


@pytest.mark.parametrize("turn", BANNED, ids=lambda turn: turn.bad)
def test_rewrites_use_no_banned_turn(turn: Turn) -> None:
    assert not complaints(turn.good)


PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
CARDS = [
    *(ROOT / "taggers" / "models" / f"{name}.md" for name in ("en-pos", "en-ner")),
    *(ROOT / "benchmarks" / f"{name}.md" for name in ("card", "card_ner")),
]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blank(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


def without_code(text: str) -> str:
    """A page with blank lines in place of its code, front matter and comments: line numbers are kept."""
    for pattern in (r"\A---\n.*?\n---\n", r"^```.*?^```", r"<!--.*?-->", r"^(?: {4}|\t)(?! *[-*|] ).*?$"):
        text = re.sub(
            pattern, lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE
        )
    return text


@pytest.mark.parametrize("page", PAGES + CARDS, ids=name)
def test_page_uses_no_banned_turn(page: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "CODE", without_code(page.read_text(encoding="utf-8")))
    assert not complaints(text), "\n".join(complaints(text))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_prose_wraps_at_100_columns(page: Path) -> None:
    """Tables, code, links and what commands have written may be longer."""
    text = page.read_text(encoding="utf-8")
    written = re.compile(r"<!-- (?:table|generated): .*?<!-- end -->", re.DOTALL)
    text = without_code(written.sub(blank, text))
    long = [
        f"{name(page)}:{number}: {len(line)} columns"
        for number, line in enumerate(text.splitlines(), start=1)
        if len(line) > 100 and not line.lstrip().startswith("|") and "](" not in line and "://" not in line
    ]
    assert not long, "\n".join(long)


def test_readme_has_at_most_150_lines() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def spoken(node: ast.AST) -> Iterator[str]:
    """The texts in an expression, a placeholder for each value that is filled in; regular expressions not."""
    if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re."):
        return
    if isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "VALUE" for part in node.values)
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, str) and " " in node.value.strip():
            yield node.value
    else:
        for child in ast.iter_child_nodes(node):
            yield from spoken(child)


def sentences(path: Path) -> Iterator[tuple[int, bool, str]]:
    """(line, whether it is a docstring, text) of the docstrings, messages and help texts of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if text := ast.get_docstring(node):
                yield node.body[0].lineno, True, text
        elif isinstance(node, ast.Call | ast.Raise | ast.Return | ast.Assign | ast.Yield):
            for text in spoken(node):
                yield node.lineno, False, text


MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
COMPILED = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.pyx"))


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_module_speaks_plain_english(path: Path) -> None:
    found = []
    for line, is_docstring, text in sentences(path):
        if is_docstring and re.match(OPENING.pattern, text):
            found.append(f"{name(path)}:{line}: a docstring says what it does, not {text[:40]!r}")
        prose = re.sub(r"`[^`]*`", "CODE", text)
        found += [f"{name(path)}:{line}: {complaint}" for complaint in complaints(prose)]
    assert not found, "\n".join(dict.fromkeys(found))


@pytest.mark.parametrize("path", COMPILED, ids=name)
def test_compiled_module_speaks_plain_english(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    docstrings = [found[1] for found in re.finditer(r'"""(.*?)"""', source, re.DOTALL)]
    raised = re.findall(r"raise \w+\((.*?)\)\n", source, re.DOTALL)
    messages = [" ".join(re.findall(r'"([^"\n]*)"', statement)) for statement in raised]
    found = [
        f"a docstring says what it does, not {text[:40]!r}" for text in docstrings if text.startswith("What")
    ]
    for text in docstrings + messages:
        found += complaints(re.sub(r"`[^`]*`", "CODE", text))
    assert not found, f"{name(path)}: " + "\n".join(dict.fromkeys(found))


def test_names_of_tests_are_plain_english() -> None:
    found = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for test in re.findall(r"\bdef test_(\w+)", path.read_text(encoding="utf-8")):
            found += [f"{name(path)}: {complaint}" for complaint in complaints(test.replace("_", " "))]
    assert not found, "\n".join(found)


def test_help_of_every_command_speaks_plain_english() -> None:
    import typer.main

    from structsvm.cli.app import app

    def helps(command: Any, path: str) -> Iterator[tuple[str, str]]:
        yield path, command.help or ""
        for parameter in command.params:
            yield f"{path} {parameter.opts[0]}", getattr(parameter, "help", None) or ""
        if hasattr(command, "list_commands"):
            context = command.context_class(command)
            for word in command.list_commands(context):
                yield from helps(command.get_command(context, word), f"{path} {word}")

    found = [
        f"{path}: {complaint}"
        for path, text in helps(typer.main.get_command(app), "structsvm")
        for complaint in complaints(text)
    ]
    assert not found, "\n".join(found)
