"""Raw text of Universal Dependencies: F1 of sentences, tokens and words, compared with UDPipe 1.

Both programs learn from train.conllu and split the text of test.conllu, in which a blank line ends each
paragraph that the file marks. UDPipe 1 trains its tokenizer with its defaults and the development file as
held-out data. This takes long, so its figures are kept in `results/ud-text.json` and measured again only if
they are absent.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.harness import cpu_timed, in_own_process, kept_figures, publish, table
from benchmarks.peers.install import FOLDER
from benchmarks.ud import OURS, TREEBANKS, UDPIPE, udpipe_sentences

MEASURED = {OURS: list(TREEBANKS), UDPIPE: ["Afrikaans", "EWT"]}
Tokens = Iterable[tuple[str, tuple[str, ...]]]  # a token as written, and its words if it has several


def spans(sentences: Iterable[Tokens]) -> dict[str, set[Any]]:
    """Sentences, tokens and words as positions in the text without white space."""
    found: dict[str, set[Any]] = {"sentences": set(), "tokens": set(), "words": set()}
    at = 0
    for tokens in sentences:
        first = at
        for form, words in tokens:
            start, at = at, at + len("".join(form.split()))
            found["tokens"].add((start, at))
            found["words"] |= {(start, at, k, word) for k, word in enumerate(words or (form,))}
        found["sentences"].add((first, at))
    return found


def f1(gold: set[Any], found: set[Any]) -> float:
    """F1 in %."""
    return 200 * len(gold & found) / (len(gold) + len(found))


def gold(path: Path) -> tuple[str, dict[str, set[Any]]]:
    """The text of a CoNLL-U file, and its spans."""
    from taggers.formats.conllu_text import raw_text, read_sentences

    data = path.read_bytes()
    sentences = read_sentences(data)
    return raw_text(data).text, spans([(one.form, tuple(one.words)) for one in s.tokens] for s in sentences)


def ours(folder: Path, text: str) -> tuple[dict[str, set[Any]], float, float]:
    from taggers.formats.conllu_text import raw_text
    from taggers.splitter import train_splitter

    raw = raw_text((folder / "train.conllu").read_bytes())
    splitter, seconds = cpu_timed(lambda: train_splitter(raw))
    splitter = splitter.with_models({k: v.compact(0.0, "int8") for k, v in splitter.models.items()})
    splitter.split(text)
    found, splitting = cpu_timed(lambda: splitter.split(text))
    return spans([(t.text, t.words) for t in tokens] for tokens in found), seconds, splitting


def udpipe(folder: Path, text: str) -> tuple[dict[str, set[Any]], float, float]:
    from ufal.udpipe import Model, ProcessingError, Sentence, Trainer

    def train() -> Any:
        error = ProcessingError()
        data = [udpipe_sentences(folder / f"{part}.conllu") for part in ("train", "dev")]
        model = Trainer.train("morphodita_parsito", *data, "", "none", "none", error)
        if error.occurred():
            raise RuntimeError(error.message)
        return model

    trained, seconds = cpu_timed(train)
    with tempfile.NamedTemporaryFile(suffix=".udpipe") as file:
        file.write(trained)
        file.flush()
        model = Model.load(file.name)

    def split() -> list[list[tuple[str, tuple[str, ...]]]]:
        found, source, error = [], model.newTokenizer(model.DEFAULT), ProcessingError()
        source.setText(text.replace("\n", "\n\n"))
        sentence = Sentence()
        while source.nextSentence(sentence, error):
            ranges = {one.idFirst: one for one in sentence.multiwordTokens}
            tokens, covered = [], 0
            for word in list(sentence.words)[1:]:
                if word.id in ranges:
                    covered = ranges[word.id].idLast
                    inside = [sentence.words[k].form for k in range(word.id, covered + 1)]
                    tokens.append((ranges[word.id].form, tuple(inside)))
                elif word.id > covered:
                    tokens.append((word.form, ()))
            found.append(tokens)
            sentence = Sentence()
        return found

    found, splitting = cpu_timed(split)
    return spans(found), seconds, splitting


RUN = {OURS: ours, UDPIPE: udpipe}


def measure(method: str, treebank: str, part: str = "test") -> dict[str, Any]:
    from corpora import find

    folder = find(TREEBANKS[treebank])
    text, wanted = gold(folder / f"{part}.conllu")
    found, seconds, splitting = RUN[method](folder, text)
    scores = {name: f1(wanted[name], found[name]) for name in wanted}
    return scores | {"train": seconds, "characters_per_s": len(text) / splitting}


def main(*, quick: bool = False) -> None:
    """Measure structsvm on all treebanks and UDPipe on two.

    quick: only structsvm, on the development files, without writing the results.
    """
    runs = [] if quick else [run for run in kept_figures("ud-text") if run["method"] != OURS]
    done = {(run["method"], run["treebank"]) for run in runs}
    for method, treebanks in MEASURED.items():
        for treebank in treebanks if method == OURS or not quick else ():
            job = {"method": method, "treebank": treebank}
            if tuple(job.values()) not in done:
                packages = [str(FOLDER / "ufal.udpipe")] if method == UDPIPE else []
                more = {"part": "dev"} if quick else {}
                runs.append(job | in_own_process("benchmarks.ud_text", job | more, packages))
                print(runs[-1], file=sys.stderr)
                if not quick:
                    publish("ud-text", report(runs), runs)
    if quick:
        print(report(runs))


def report(runs: list[dict[str, Any]]) -> str:
    """A table of all treebanks: F1 in %."""
    rows = [
        [
            treebank,
            f"**{method}**" if method == OURS else method,
            *(f"{run[name]:.2f}" for name in ("sentences", "tokens", "words")),
            f"{run['train']:.1f}",
            f"{run['characters_per_s']:,.0f}",
        ]
        for treebank in TREEBANKS
        for method in RUN
        for run in runs
        if (run["treebank"], run["method"]) == (treebank, method)
    ]
    heads = ["treebank", "program", "sentences", "tokens", "words", "training, CPU s", "characters per CPU s"]
    return table(heads, rows)
