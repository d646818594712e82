"""Universal Dependencies with gold tokens: UPOS, XPOS, FEATS and lemmas, compared with UDPipe 1 and spaCy.

UDPipe 1 trains its tagger with its defaults (20 iterations) and the development file as held-out data.
spaCy trains the pipeline of `spacy init config --pipeline tagger,morphologizer,trainable_lemmatizer` for a
CPU until early stopping, or for `SPACY_CPU_S` CPU seconds; the table then says "stopped".

Peers take long, so their figures are kept in `results/ud.json` and measured again only if they are absent.
Each row is written as soon as it is measured, the smallest treebank first.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.harness import cpu_timed, in_own_process, kept_figures, publish, table
from benchmarks.peers.install import FOLDER

TREEBANKS = {
    "Afrikaans": "ud_afrikaans",
    "Greek": "ud_greek",
    "Sequoia": "ud_french_sequoia",
    "EWT": "ud_english_ewt",
}  # the smallest first
FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL = range(1, 8)
MEASURES = {
    "UPOS": (UPOS,), "XPOS": (XPOS,), "FEATS": (FEATS,), "UPOS+FEATS": (UPOS, FEATS), "LEMMA": (LEMMA,),
}  # fmt: skip
SEEDS = 3
SPACY_CPU_S = 1500
PRUNE = 0.002  # chosen on the development files of Afrikaans and Greek: costs less than 0.1 points
LAYERS = ("split", "upos", "morph", "lemma")  # `ud_trees` measures the parser
UDPIPE, SPACY, OURS = "UDPipe 1", "spaCy", "structsvm"


def words(path: Path) -> Iterator[list[str]]:
    """The fields of each word of a CoNLL-U file, without ranges and empty nodes."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line[0].isdigit():
                fields = line.rstrip("\n").split("\t")
                if fields[0].isdigit():
                    yield fields


def scores(gold: Path, found: Path, train: Path) -> dict[str, float]:
    """Accuracy in % by column, of all words and of those that the training file lacks."""
    known = {fields[FORM] for fields in words(train)}
    right = {(name, kind): 0 for name in MEASURES for kind in ("", " unknown")}
    total = {"": 0, " unknown": 0}
    for a, b in zip(words(gold), words(found), strict=True):
        assert a[FORM] == b[FORM]
        for kind in ("", " unknown") if a[FORM] not in known else ("",):
            total[kind] += 1
            for name, columns in MEASURES.items():
                right[name, kind] += all(a[k] == b[k] for k in columns)
    used = {name for name, (first, *_) in MEASURES.items() if any(row[first] != "_" for row in words(gold))}
    return {name + kind: 100 * n / total[kind] for (name, kind), n in right.items() if name in used}


def udpipe_sentences(path: Path) -> Any:
    """The sentences of a file as UDPipe's own objects."""
    from ufal.udpipe import InputFormat, ProcessingError, Sentence, Sentences

    found, error, source = Sentences(), ProcessingError(), InputFormat.newConlluInputFormat()
    source.setText(path.read_text(encoding="utf-8"))
    sentence = Sentence()
    while source.nextSentence(sentence, error):
        found.append(sentence)
        sentence = Sentence()
    return found


def udpipe(folder: Path, seed: int, output: Path) -> dict[str, float]:
    from ufal.udpipe import Model, OutputFormat, ProcessingError, Trainer

    def train() -> Any:
        error = ProcessingError()
        data, held_out = [udpipe_sentences(folder / f"{part}.conllu") for part in ("train", "dev")]
        model = Trainer.train("morphodita_parsito", data, held_out, "none", "", "none", error)
        if error.occurred():
            raise RuntimeError(error.message)
        return model

    trained, seconds = cpu_timed(train)
    model = output.with_suffix(".udpipe")
    model.write_bytes(trained)
    tagger = Model.load(str(model))

    def tag() -> int:
        target, tokens = OutputFormat.newConlluOutputFormat(), 0
        with output.open("w", encoding="utf-8") as out:
            for sentence in udpipe_sentences(folder / "test.conllu"):
                for word in sentence.words:
                    word.upostag = word.xpostag = word.feats = word.lemma = ""
                tagger.tag(sentence, tagger.DEFAULT)
                tokens += len(sentence.words) - 1
                out.write(target.writeSentence(sentence))
        return tokens

    tokens, tagging = cpu_timed(tag)
    return {"train": seconds, "tokens_per_s": tokens / tagging, "model_mb": model.stat().st_size / 1e6}


def spacy(
    folder: Path, seed: int, output: Path, *, last: str = "trainable_lemmatizer", most: float = SPACY_CPU_S
) -> dict[str, float]:
    """Train the tagger, the morphologizer and one more component, for some CPU seconds at most."""
    import spacy as library
    from spacy.cli.init_config import init_config
    from spacy.cli.train import train
    from spacy.tokens import Doc
    from spacy.util import registry

    scratch = output.parent

    class Enough(Exception):
        pass

    @registry.loggers("benchmarks.capped_logger.v1")
    def capped_logger() -> Any:
        def log_step(info: Any) -> None:
            if time.process_time() - start > most:
                raise Enough

        return lambda nlp, stdout, stderr: (log_step, lambda: None)

    def run() -> bool:
        """Train; return whether the time ran out first. model-best is then that of the last evaluation."""
        try:
            train(scratch / "config.cfg", scratch / "out", overrides={"system.seed": seed, **paths})
        except Enough:
            return True
        return False

    has_xpos = any(row[XPOS] != "_" for row in words(folder / "train.conllu"))
    pipeline = ["tagger"] * has_xpos + ["morphologizer", last]
    config = init_config(lang="xx", pipeline=pipeline, optimize="efficiency", gpu=False, silent=True)
    config["training"]["logger"] = {"@loggers": "benchmarks.capped_logger.v1"}
    paths = {}
    for part in ("train", "dev"):
        paths[f"paths.{part}"] = str(scratch / f"{part}.spacy")
        _docs(folder / f"{part}.conllu").to_disk(scratch / f"{part}.spacy")
    for corpus in config["corpora"].values():
        corpus["gold_preproc"] = True
    config.to_disk(scratch / "config.cfg")
    start = time.process_time()
    stopped, seconds = cpu_timed(run)
    best = scratch / "out" / "model-best"
    nlp = library.load(best)
    rows = list(sentences(folder / "test.conllu"))

    def tag() -> list[Any]:
        return list(
            nlp.pipe(Doc(nlp.vocab, [row[FORM] for row in one], sent_starts=starts(one)) for one in rows)
        )

    docs, tagging = cpu_timed(tag)
    with output.open("w", encoding="utf-8") as out:
        for one, doc in zip(rows, docs, strict=True):
            for row, token in zip(one, doc, strict=True):
                row[LEMMA : FEATS + 1] = token.lemma_, token.pos_, token.tag_ or "_", str(token.morph) or "_"
                row[HEAD] = "0" if token.head == token else str(token.head.i + 1)
                row[DEPREL] = "root" if token.head == token else token.dep_ or "_"
                out.write("\t".join(row) + "\n")
            out.write("\n")
    size = sum(path.stat().st_size for path in best.rglob("*") if path.is_file())
    return {
        "train": seconds, "stopped": stopped, "tokens_per_s": sum(map(len, docs)) / tagging,
        "model_mb": size / 1e6,
    }  # fmt: skip


def sentences(path: Path) -> Iterator[list[list[str]]]:
    rows: list[list[str]] = []
    for fields in words(path):
        if fields[0] == "1" and rows:
            yield rows
            rows = []
        rows.append(fields)
    yield rows


def starts(rows: list[list[str]]) -> Any:
    """A document is one sentence, also for a parser."""
    return [True] + [False] * (len(rows) - 1)


def _docs(path: Path) -> Any:
    import spacy as library
    from spacy.tokens import Doc, DocBin

    vocab, docs = library.blank("xx").vocab, DocBin()
    for rows in sentences(path):
        _, forms, lemmas, pos, tags, morphs, heads, labels = zip(*[row[:8] for row in rows], strict=True)
        trees: dict[str, Any] = {"sent_starts": starts(rows)}
        if "_" not in heads:
            places = [int(head) - 1 if head != "0" else k for k, head in enumerate(heads)]
            trees = {"heads": places, "deps": list(labels)}
        docs.add(
            Doc(
                vocab,
                words=list(forms),
                lemmas=list(lemmas),
                pos=list(pos),
                **trees,
                tags=["" if tag == "_" else tag for tag in tags],
                morphs=["" if morph == "_" else morph for morph in morphs],
            )
        )
    return docs


def measure(method: str, treebank: str, seed: int) -> dict[str, Any]:
    from corpora import find

    folder = find(TREEBANKS[treebank])
    with tempfile.TemporaryDirectory() as scratch:
        output = Path(scratch, "tagged.conllu")
        figures = RUN[method](folder, seed, output)
        return figures | scores(folder / "test.conllu", output, folder / "train.conllu")


def ours(folder: Path, seed: int, output: Path) -> dict[str, float]:
    from taggers.commands import tag, train_ud
    from taggers.pipeline import Pipeline

    model = output.with_suffix(".ssvm")
    _, seconds = cpu_timed(
        lambda: train_ud(
            folder / "train.conllu", model, layers=LAYERS, random_state=seed, dtype="int8", prune=PRUNE
        )
    )
    pipeline = Pipeline.load(model)
    tokens, tagging = cpu_timed(lambda: tag(pipeline, folder / "test.conllu", output))
    _, again = cpu_timed(lambda: tag(pipeline, folder / "test.conllu", output))
    return {
        "train": seconds, "tokens_per_s": tokens / tagging, "warm_tokens_per_s": tokens / again,
        "model_mb": model.stat().st_size / 1e6,
    }  # fmt: skip


PEERS = {UDPIPE: udpipe, SPACY: spacy}
RUN = {OURS: ours, **PEERS}
PACKAGES = {UDPIPE: [str(FOLDER / "ufal.udpipe")]}


def main(*, quick: bool = False) -> None:
    """Measure each peer once and ours with three seeds; quick: ours with one seed, without writing."""
    runs = {} if quick else {_key(run): run for run in kept_figures("ud")}
    for method in [OURS] if quick else [*PEERS, OURS]:
        for treebank in TREEBANKS:
            for seed in range(SEEDS if method == OURS and not quick else 1):
                job = {"method": method, "treebank": treebank, "seed": seed}
                if method == OURS or _key(job) not in runs:
                    runs[_key(job)] = job | in_own_process("benchmarks.ud", job, PACKAGES.get(method, []))
                    print(runs[_key(job)], file=sys.stderr)
                    if not quick:
                        publish("ud", report(list(runs.values())), list(runs.values()))
    if quick:
        print(report(list(runs.values())))


def _key(run: dict[str, Any]) -> tuple[str, str, int]:
    return run["method"], run["treebank"], run["seed"]


def report(runs: list[dict[str, Any]]) -> str:
    """A table of all treebanks: accuracy in %, that of unknown words in brackets."""
    rows = []
    for treebank in TREEBANKS:
        for method in RUN:
            found = [run for run in runs if (run["treebank"], run["method"]) == (treebank, method)]
            if found:
                mean = {key: statistics.fmean(run[key] for run in found) for key in found[0] if key in SHOWN}
                cells = [
                    f"{mean[name]:.2f} ({mean[name + ' unknown']:.1f})" if name in mean else ""
                    for name in MEASURES
                ]
                cells += [f"{mean[key]:,.{SHOWN[key]}f}" for key in FIGURES]
                name = f"**{method}**" if method == OURS else method
                name += ", stopped" * any(run.get("stopped") for run in found)
                rows.append([treebank, name, *cells, len(found)])
    heads = ["training, CPU s", "tokens per CPU s", "model MB", "peak MB", "seeds"]
    return table(["treebank", "program", *MEASURES, *heads], rows)


FIGURES = {"train": 1, "tokens_per_s": 0, "model_mb": 1, "peak_mb": 0}
SHOWN = FIGURES | {name + kind: 2 for name in MEASURES for kind in ("", " unknown")}
