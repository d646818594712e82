"""The tasks that all programs are measured on, as files, and a template for those that take one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.registry import find


@dataclass(frozen=True)
class Task:
    """A corpus, its files, which of their columns (the last is the label), a template and its cutoff."""

    corpus: str
    train: str
    test: str
    columns: tuple[int, ...]
    template: str
    cutoff: int
    preset: str
    measure: str


TASKS = {
    "chunking": Task(
        "conll2000", "train.txt", "test.txt", (0, 1, 2),
        """w[-2..2], w[-1]|w[0], w[0]|w[1],
           p[-2..2], p[-2]|p[-1], p[-1]|p[0], p[0]|p[1], p[1]|p[2],
           p[-2]|p[-1]|p[0], p[-1]|p[0]|p[1], p[0]|p[1]|p[2]""",
        3, "chunk", "F1",
    ),
    "pos": Task(
        "ud_english_ewt", "train.conllu", "test.conllu", (1, 3),
        """w[-2..2], lower[0], w[-1]|w[0], w[0]|w[1], prefix1[0], prefix2[0], prefix3[0],
           suffix1[0], suffix2[0], suffix3[0], suffix4[0], suffix3[-1], suffix3[1],
           shape[0], has_digit[0], has_hyphen[0], is_title[0], is_upper[0]""",
        1, "pos", "accuracy",
    ),
    "ner": Task(
        "conll2002", "esp.train", "esp.testb", (0, 1, 2),
        """w[-2..2], lower[-1..1], w[-1]|w[0], w[0]|w[1], prefix2[0], prefix3[0], suffix2[0], suffix3[0],
           shape[-1..1], is_title[-1..1], is_upper[-1..1], has_digit[0], p[-2..2], p[-1]|p[0], p[0]|p[1]""",
        1, "ner", "F1",
    ),
}  # fmt: skip
TITLES = {
    "chunking": "CoNLL-2000 chunking",
    "pos": "UD English EWT, UPOS",
    "ner": "CoNLL-2002 Spanish NER",
    "letter": "LETTER, 26 classes",
    "usps": "USPS, 10 classes",
    "r8": "Reuters R8, 8 classes, linear",
}


def prepare(name: str, folder: Path, sentences: int | None = None) -> None:
    """Write train.txt and test.txt, `word [tag] label` a line, of the first sentences or of all."""
    if name not in TASKS:
        from benchmarks.peers.classifiers import write_arrays

        write_arrays(name, folder)
        return
    task = TASKS[name]
    for source, target in ((task.train, "train.txt"), (task.test, "test.txt")):
        blocks = []
        for block in (find(task.corpus) / source).read_text(encoding="utf-8").strip().split("\n\n"):
            rows = [line.split("\t" if source.endswith("conllu") else " ") for line in block.split("\n")]
            kept = [
                [row[k].replace(" ", "_") for k in task.columns]
                for row in rows
                if not row[0].startswith("#") or not source.endswith("conllu")
                if not source.endswith("conllu") or row[0].isdigit()
            ]
            blocks.append("".join(f"{' '.join(row)}\n" for row in kept))
        (folder / target).write_text("\n".join(blocks[:sentences]), encoding="utf-8")


def read(path: Path) -> Iterator[list[list[str]]]:
    """Sentences of a file, as lists of rows."""
    with path.open(encoding="utf-8") as file:
        sentence: list[list[str]] = []
        for line in file:
            if line != "\n":
                sentence.append(line.rstrip("\n").split(" "))
            elif sentence:
                yield sentence
                sentence = []
        if sentence:
            yield sentence


def write(path: Path, labelled: Iterator[tuple[list[list[str]], list[str]]]) -> None:
    """Write sentences with the label appended to each row."""
    with path.open("w", encoding="utf-8") as file:
        for rows, labels in labelled:
            file.writelines(f"{' '.join(row)} {label}\n" for row, label in zip(rows, labels, strict=True))
            file.write("\n")


class Items:
    """The features of a template as strings, for programs that take them so; attributes once a word."""

    def __init__(self, template: str) -> None:
        from taggers.features.attributes import attribute
        from taggers.features.template import parse_template

        patterns = parse_template(template).patterns
        used = sorted({(cell.column, cell.attribute) for pattern in patterns for cell in pattern.cells})
        self.rows = [(column, attribute(name) if name else str) for column, name in used]
        self.patterns = [
            (
                f"{number}=",
                [(used.index((cell.column, cell.attribute)), cell.offset) for cell in pattern.cells],
            )
            for number, pattern in enumerate(patterns)
        ]
        self.reach = max(abs(offset) for _, cells in self.patterns for _, offset in cells)
        self.known: list[dict[str, Any]] = [{} for _ in used]

    def __call__(self, sentence: list[list[str]]) -> list[list[str]]:
        reach = self.reach
        before = [f"_B-{k}" for k in range(reach, 0, -1)]
        after = [f"_B+{k}" for k in range(1, reach + 1)]
        values = []
        for (column, function), known in zip(self.rows, self.known, strict=True):
            found = list(before)
            for row in sentence:
                text = row[column]
                if text not in known:
                    known[text] = function(text)
                found.append(known[text])
            values.append(found + after)
        result = []
        for at in range(reach, reach + len(sentence)):
            features = []
            for name, cells in self.patterns:
                parts = [values[row][at + offset] for row, offset in cells]
                if None not in parts:
                    features.append(name + "|".join(parts))
            result.append(features)
        return result
