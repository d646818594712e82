"""Dependency trees of Universal Dependencies: gold tokens, predicted tags; compared with UDPipe 1.

structsvm trains all layers with its defaults, or with another `--search`, and saves them with
`--dtype int8 --prune 0.002`. UDPipe 1 trains its parser with its defaults, the development file as held-out
data and the tags of structsvm, which are jackknifed in training: its own tags would cost it accuracy. spaCy
trains `tagger,morphologizer,parser` for a CPU until early stopping, or for `SPACY_CPU_S` CPU seconds.

Peers take long, so they are measured on `PEER_TREEBANKS` only. Their figures are kept in
`results/ud-trees.json` and measured again only if they are absent. `--tasks NAME` measures one program. Each
row is written as soon as it is measured, the smallest treebank first.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.harness import cpu_timed, in_own_process, kept_figures, publish, table
from benchmarks.peers.install import FOLDER
from benchmarks.ud import (
    FEATS,
    LEMMA,
    OURS,
    PRUNE,
    SEEDS,
    SPACY,
    TREEBANKS,
    UDPIPE,
    UPOS,
    XPOS,
    sentences,
    spacy,
    udpipe_sentences,
)

PEER_TREEBANKS = ("Afrikaans",)
SPACY_CPU_S = 400
COLUMNS = {"lemma": LEMMA, "upos": UPOS, "xpos": XPOS, "feats": FEATS}
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

    files = our_tags(folder, seed, output.parent)

    def train() -> Any:
        error = ProcessingError()
        data = [udpipe_sentences(files[part]) for part in ("train", "dev")]
        model = Trainer.train("morphodita_parsito", *data, "none", "none", "", error)
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
            for sentence in udpipe_sentences(files["test"]):
                sentence.unlinkAllNodes()
                parser.parse(sentence, parser.DEFAULT)
                tokens += len(sentence.words) - 1
                out.write(target.writeSentence(sentence))
        return tokens

    tokens, parsing = cpu_timed(parse)
    return {"parser_s": seconds, "parsed_per_s": tokens / parsing, "parser_mb": model.stat().st_size / 1e6}


def our_tags(folder: Path, seed: int, scratch: Path) -> dict[str, Path]:
    """The parts of a treebank with the tags that our parser gets, jackknifed in the training part."""
    from taggers.commands import tag, train_ud
    from taggers.pipeline import Pipeline

    training: Any = import_module("taggers.pipeline.training")
    model, jackknifed, kept = scratch / "ours.ssvm", training.jackknifed, {}

    def keep(*args: Any, **options: Any) -> Any:
        kept.update(jackknifed(*args, **options))
        return kept

    training.jackknifed = keep
    train_ud(folder / "train.conllu", model, random_state=seed, dtype="int8", prune=PRUNE)
    tagger = Pipeline.load(model)
    tagger.parser = None
    files = {part: scratch / f"{part}.conllu" for part in ("train", "dev", "test")}
    for part in ("dev", "test"):
        tag(tagger, folder / f"{part}.conllu", files[part])
    at = 0
    with files["train"].open("w", encoding="utf-8") as out:
        for rows in sentences(folder / "train.conllu"):
            for row in rows:
                for name, found in kept.items():
                    row[COLUMNS[name]] = found.names[found.ids[at]]
                out.write("\t".join(row) + "\n")
                at += 1
            out.write("\n")
    return files


SEARCHES = {f"{OURS}, {search}": partial(ours, search=search) for search in ("exact", "accurate")}
PEERS: dict[str, Callable[..., dict[str, float]]] = {
    UDPIPE: udpipe, SPACY: partial(spacy, last="parser", most=SPACY_CPU_S),
}  # fmt: skip
RUN: dict[str, Callable[..., dict[str, float]]] = {OURS: ours, **SEARCHES, **PEERS}
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


def main(*, quick: bool = False, tasks: Sequence[str] = ()) -> None:
    """Measure some or all programs; quick: ours on Afrikaans, without writing."""
    if quick:
        job = {"method": OURS, "treebank": "Afrikaans", "seed": 0}
        return print(report([job | in_own_process("benchmarks.ud_trees", job)]))
    runs = {_key(run): run for run in kept_figures("ud-trees")}
    for method in tasks or RUN:
        for treebank in TREEBANKS if method not in PEERS else PEER_TREEBANKS:
            measure_all(runs, method, treebank)
    return None


def measure_all(runs: dict[tuple[str, str, int], dict[str, Any]], method: str, treebank: str) -> None:
    """Measure a program on a treebank, and publish all rows so far."""
    for seed in range(1 if method in PEERS else SEEDS):
        job = {"method": method, "treebank": treebank, "seed": seed}
        if method not in PEERS or _key(job) not in runs:
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
                rows.append(
                    [treebank, f"**{method}**" if method not in PEERS else method, *cells, len(found)]
                )
    return table(["treebank", "program", *TREES, *HEADS], rows)
