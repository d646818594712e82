"""Dependency trees of Universal Dependencies: gold tokens, predicted tags; compared with UDPipe 1.

structsvm trains all layers with its defaults, or with another `--search`, and saves them with
`--dtype int8 --prune 0.002`. UDPipe 1 trains its tagger and its parser with its defaults and the development
file as held-out data. That takes half an hour and more for each treebank, so its figures are kept in
`results/ud-trees.json` and measured again only if they are absent. Each row is written as soon as it is
measured, the smallest treebank first.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.harness import cpu_timed, in_own_process, kept_figures, publish, table
from benchmarks.peers.install import FOLDER
from benchmarks.ud import OURS, PRUNE, SEEDS, TREEBANKS, UDPIPE, udpipe_sentences

TREES = ("UAS", "LAS", "CLAS", "MLAS", "BLEX")
FIGURES = {
    "train": 1, "parser_s": 1, "tokens_per_s": 0, "parsed_per_s": 0, "raw_per_s": 0, "model_mb": 1,
    "parser_mb": 1, "peak_mb": 0,
}  # fmt: skip
HEADS = [
    "training, CPU s", "of which parser", "tokens per CPU s", "parsing alone", "from raw text", "model MB",
    "parser MB", "peak MB", "seeds",
]  # fmt: skip


def ours(folder: Path, seed: int, output: Path, *, search: str = "greedy") -> dict[str, float]:
    from taggers.commands import tag, train_ud
    from taggers.formats.conllu_text import raw_text
    from taggers.formats.files import read_all
    from taggers.pipeline import Pipeline
    from taggers.pipeline.layers import extended

    training: Any = import_module("taggers.pipeline.training")
    model, spent = output.with_suffix(".ssvm"), list[float]()
    learn = training.train_parser

    def timed(*args: Any, **options: Any) -> Any:
        parser, seconds = cpu_timed(lambda: learn(*args, **options))
        spent.append(seconds)
        return parser

    training.train_parser = timed
    _, seconds = cpu_timed(
        lambda: train_ud(
            folder / "train.conllu", model, search=search, random_state=seed, dtype="int8", prune=PRUNE
        )
    )
    pipeline = Pipeline.load(model)
    parser = pipeline.parser
    assert parser is not None
    parts, _ = parser.packed("int8")
    test = folder / "test.conllu"
    tokens, tagging = cpu_timed(lambda: tag(pipeline, test, output))
    columns = read_all(test, "conllu", wanted=[1])
    found = {name: one for name, one in pipeline.tag(columns).items() if name not in ("head", "deprel")}
    forms = extended(columns, []).texts(0)
    _, parsing = cpu_timed(lambda: parser.parse(forms, found, columns.sentence_ptr))
    text = output.with_suffix(".txt")
    text.write_text(raw_text(test.read_bytes()).text, encoding="utf-8")
    raw = output.with_suffix(".raw")
    _, whole = cpu_timed(lambda: tag(pipeline, text, raw, format="text", to="conllu"))
    return {
        "train": seconds, "parser_s": sum(spent), "tokens_per_s": tokens / tagging,
        "parsed_per_s": tokens / parsing, "raw_per_s": tokens / whole, "model_mb": model.stat().st_size / 1e6,
        "parser_mb": sum(part.nbytes for part in parts.values()) / 1e6,
    }  # fmt: skip


def udpipe(folder: Path, seed: int, output: Path) -> dict[str, float]:
    from ufal.udpipe import Model, OutputFormat, ProcessingError, Trainer

    def train() -> Any:
        error = ProcessingError()
        data = [udpipe_sentences(folder / f"{part}.conllu") for part in ("train", "dev")]
        model = Trainer.train("morphodita_parsito", *data, "none", "", "", error)
        if error.occurred():
            raise RuntimeError(error.message)
        return model

    trained, seconds = cpu_timed(train)
    model = output.with_suffix(".udpipe")
    model.write_bytes(trained)
    parser = Model.load(str(model))

    def parse() -> int:
        target, tokens = OutputFormat.newConlluOutputFormat(), 0
        with output.open("w", encoding="utf-8") as out:
            for sentence in udpipe_sentences(folder / "test.conllu"):
                for word in sentence.words:
                    word.upostag = word.xpostag = word.feats = word.lemma = ""
                sentence.unlinkAllWords()
                parser.tag(sentence, parser.DEFAULT)
                parser.parse(sentence, parser.DEFAULT)
                tokens += len(sentence.words) - 1
                out.write(target.writeSentence(sentence))
        return tokens

    tokens, parsing = cpu_timed(parse)
    return {"train": seconds, "tokens_per_s": tokens / parsing, "model_mb": model.stat().st_size / 1e6}


SEARCHES = {f"{OURS}, {search}": partial(ours, search=search) for search in ("exact", "accurate")}
RUN: dict[str, Callable[..., dict[str, float]]] = {OURS: ours, **SEARCHES, UDPIPE: udpipe}
PACKAGES = {UDPIPE: [str(FOLDER / "ufal.udpipe")]}


def measure(method: str, treebank: str, seed: int) -> dict[str, Any]:
    from corpora import find
    from taggers.ud_scores import universal_scores

    folder = find(TREEBANKS[treebank])
    with tempfile.TemporaryDirectory() as scratch:
        output = Path(scratch, "parsed.conllu")
        figures = RUN[method](folder, seed, output)
        found = universal_scores((folder / "test.conllu").read_bytes(), output.read_bytes(), TREES)
        return figures | {name: found[name].f1 for name in TREES}


def main(*, quick: bool = False) -> None:
    """Measure ours with three seeds, and UDPipe once; quick: ours on Afrikaans, without writing."""
    if quick:
        job = {"method": OURS, "treebank": "Afrikaans", "seed": 0}
        return print(report([job | in_own_process("benchmarks.ud_trees", job)]))
    runs = {_key(run): run for run in kept_figures("ud-trees")}
    for method in RUN:
        for treebank in TREEBANKS:
            measure_all(runs, method, treebank)
    return None


def measure_all(runs: dict[tuple[str, str, int], dict[str, Any]], method: str, treebank: str) -> None:
    """Measure a program on a treebank, and publish all rows so far."""
    own = method != UDPIPE
    for seed in range(SEEDS if own else 1):
        job = {"method": method, "treebank": treebank, "seed": seed}
        if own or _key(job) not in runs:
            runs[_key(job)] = job | in_own_process("benchmarks.ud_trees", job, PACKAGES.get(method, []))
            print(runs[_key(job)], file=sys.stderr)
            publish("ud-trees", report(list(runs.values())), list(runs.values()))


def _key(run: dict[str, Any]) -> tuple[str, str, int]:
    return run["method"], run["treebank"], run["seed"]


def report(runs: list[dict[str, Any]]) -> str:
    """A table of all treebanks: F1 in %."""
    rows = []
    for treebank in TREEBANKS:
        for method in RUN:
            found = [run for run in runs if (run["treebank"], run["method"]) == (treebank, method)]
            if found:
                mean = {
                    name: f"{statistics.fmean(run[name] for run in found):,.{digits}f}"
                    for name, digits in (dict.fromkeys(TREES, 2) | FIGURES).items() if name in found[0]
                }  # fmt: skip
                cells = [mean.get(name, "") for name in (*TREES, *FIGURES)]
                rows.append([treebank, f"**{method}**" if method != UDPIPE else method, *cells, len(found)])
    return table(["treebank", "program", *TREES, *HEADS], rows)
