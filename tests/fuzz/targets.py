"""What is fuzzed: each target prepares its files once and runs cases that a random generator decides."""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.files.persist import ModelFileError
from tests.fuzz.mutate import PIECES, damaged, forge, mutated
from tests.taggers.sentences import as_columns, as_conllu, chunk_data, sentences

Case = Callable[[random.Random], None]


class Finding(Exception):
    """A case that ended in neither a result nor one sentence."""


@contextlib.contextmanager
def one_sentence(*kinds: type[BaseException]) -> Iterator[None]:
    """Accept these exceptions if they say something in one line."""
    try:
        yield
    except kinds as error:
        said = str(error)
        if not said.strip() or "\n" in said or "\r" in said:
            raise Finding(f"not one sentence: {type(error).__name__}: {said!r}") from error


def crfsuite_file(n: int) -> bytes:
    """Sentences as CRFsuite's files have them."""
    blocks = ("".join(f"{c}\tw={w}\tp={p}:0.5\n" for w, p, c in tokens) for tokens in sentences(n))
    return "\n".join(blocks).encode()


def svmhmm_file(n: int) -> bytes:
    """Sentences as SVM-HMM's files have them."""
    lines = [
        f"{1 + len(p)} qid:{number} {1 + len(w)}:1 {20 + len(p)}:0.5 # {w}\n"
        for number, tokens in enumerate(sentences(n), 1)
        for w, p, _ in tokens
    ]
    return "".join(lines).encode()


SAMPLES = {
    "columns": lambda: as_columns(8),
    "conllu": lambda: as_conllu(8),
    "crfsuite": lambda: crfsuite_file(8),
    "svmhmm": lambda: svmhmm_file(8),
    "text": lambda: b"Anna sees the old house. It is near Turin!\nNo cat likes 12 trains.\n",
}


def readers(folder: Path) -> Case:
    """Mutated files of every format through train, tag, evaluate and convert."""
    from taggers import commands

    models = {}
    for name, task, options in (
        ("columns", "chunk", {}), ("conllu", "pos", {}), ("crfsuite", "label", {}), ("svmhmm", "label", {}),
    ):  # fmt: skip
        (folder / name).write_bytes(SAMPLES[name]())
        models[name] = folder / f"{name}.ssvm"
        commands.train(task, folder / name, models[name], **options)
    models["text"] = models["conllu"]
    known = ["auto", "columns", "conllu", "crfsuite", "svmhmm", "text"]

    def case(rng: random.Random) -> None:
        name = rng.choice(sorted(SAMPLES))
        path, out = folder / "input", folder / "output"
        path.write_bytes(mutated(rng, SAMPLES[name]()))
        out.unlink(missing_ok=True)
        format = rng.choice(["auto", "auto", name, rng.choice(known)])
        encoding = rng.choice(["utf-8", "utf-8", "utf-8", "latin-1", "utf-16"])
        common: dict[str, Any] = {"format": format, "encoding": encoding}
        refused = True
        with one_sentence(ValueError, OSError):
            model = models[rng.choice([name, name, rng.choice(sorted(models))])]
            choice = rng.randrange(5)
            if choice == 0:
                task = rng.choice(["chunk", "ner", "label", "pos"])
                commands.train(task, path, out, epochs=1, **common)
            elif choice == 1:
                commands.tag(model, path, out, scores=rng.random() < 0.3, **common)
            elif choice == 2:
                commands.evaluate(model, path, **common)
            elif choice == 3:
                commands.evaluate(None, path, **common)
            else:
                commands.convert(path, out, to=rng.choice(["IOBES", "IOB1"]), **common)
            refused = False
        if refused and out.exists():
            raise Finding("refused, and yet there is an output")

    return case


def kinds() -> dict[str, tuple[Any, Callable[[Any], Any]]]:
    """A fitted model of every kind that can be saved, and what a user then does with it."""
    from semparse import ConceptLabeller, Ospas
    from structsvm import LaRankClassifier
    from structsvm.binary import (
        HullerClassifier,
        KernelPassiveAggressive,
        KernelPerceptron,
        LaSVMClassifier,
        SGDQNClassifier,
        TrackingClassifier,
    )  # fmt: skip
    from taggers import Chunker, SequenceTagger

    X, y = chunk_data(10)
    rng = np.random.default_rng(0)
    points, three, two = rng.normal(size=(30, 3)), np.arange(30) % 3, np.arange(30) % 2
    template = "w[-1..1], p[0], suffix2[0], cluster[0], y[-1]|p[0]"
    said = ["gus passes to anna", "anna shoots", "gus shoots", "anna passes to gus"] * 3
    meant = [["pass(gus, anna)", "shot(gus)"], ["shot(anna)"], ["shot(gus)", "pass(gus, anna)"],
             ["pass(anna, gus)"]] * 3  # fmt: skip

    def tagged(model: Any) -> None:
        ready = model.model_.template is None
        sentence = [{"w": "cat", "x": 0.5}, {"w": "dog"}] if ready else [("the", "DT"), ("cat", "NN")]
        model.predict([sentence])
        model.predict_margins([sentence])
        model.explain(sentence)
        if model.model_.inference == "exact":
            model.predict_nbest([sentence], 2)

    def classified(model: Any) -> None:
        model.predict(points[:3])
        model.decision_function(points[:3])

    def parsed(model: Any) -> None:
        model.parse("gus passes to anna")
        model.parse("hello there")

    heard = [["he", "cooks", "rice"], ["anna", "sleeps"]] * 4
    worlds = [{"loc": {"anna": "kitchen", "rice": "kitchen"}}, {"loc": {"anna": "bed"}}] * 4
    concepts = [["anna", "cook", "rice"], ["anna", "sleep"]] * 4

    def labelled(model: Any) -> None:
        model.predict(heard[:2], worlds[:2])

    made: dict[str, tuple[Any, Callable[[Any], Any]]] = {
        "exact": (Chunker(template=template, keep_names=True).fit(X, y), tagged),
        "greedy": (SequenceTagger(template=template, inference="greedy").fit(X, y), tagged),
        "perceptron": (SequenceTagger(template="w[0]", algorithm="perceptron").fit(X, y), tagged),
        "ready": (SequenceTagger().fit([[{"w": t[0], "x": 0.3} for t in s] for s in X], y), tagged),
        "linear": (LaRankClassifier(kernel="linear").fit(points, three), classified),
        "rbf": (LaRankClassifier(kernel="rbf").fit(points, three), classified),
        "latent": (Ospas().fit(said, meant), parsed),
        "thesis": (Ospas(algorithm="paper").fit(said, meant), parsed),
        "concepts": (ConceptLabeller(relations=("loc",), epochs=2).fit(heard, worlds, concepts), labelled),
    }
    for kind in (HullerClassifier, KernelPassiveAggressive, KernelPerceptron, LaSVMClassifier,
                 SGDQNClassifier, TrackingClassifier):  # fmt: skip
        made[kind.__name__] = (kind().fit(points, two), classified)
    return made


def models(folder: Path) -> Case:
    """Damaged and forged files of every kind of model: refused by ModelFileError, or of use."""
    made = kinds()
    for name, (model, _) in made.items():
        model.save(folder / name)
        with contextlib.suppress(TypeError, ValueError):
            model.save(folder / f"{name}-state", training_state=True)
    files = sorted(path for path in folder.iterdir())

    def case(rng: random.Random) -> None:
        source, target = rng.choice(files), folder / "forged.bin"
        name = source.name.removesuffix("-state")
        if rng.random() < 0.25:
            target.write_bytes(damaged(rng, source.read_bytes()))
        else:
            forge(rng, source, target)
        model, use = None, made[name][1]
        with one_sentence(ModelFileError):
            model = type(made[name][0]).load(target)
        if model is not None:
            use(model)

    return case


def templates(folder: Path) -> Case:
    """Random texts as templates: a template that trains, or one sentence."""
    from taggers import SequenceTagger

    X, y = chunk_data(3)
    tokens = ["w", "p", "c2", "y", "[", "]", "-1", "0", "..", "2", "|", ",", "\n", "#", "U0:", "B", "%x[0,0]",
              "%x[-1,1]", "/", ".", "suffix2", "prefix3", "lower", "shape", "cluster", "bias", "+", "99",
              "w[0]", "y[-1]|", "\ufeff", "é", "99999999999", "w[0]|p[0]", "*", "(", ")"]  # fmt: skip

    def case(rng: random.Random) -> None:
        text = "".join(rng.choice(tokens) for _ in range(rng.randrange(12)))
        data = rng.choice([X, [[token[0] for token in s] for s in X], [[()] * len(s) for s in X]])
        with one_sentence(ValueError, OSError, TypeError):
            tagger = SequenceTagger(template=text, epochs=1).fit(data, y)
            tagger.predict(data)
            tagger.explain(data[0])

    return case


def parse(folder: Path) -> Case:
    """Mutated files of sentences and meanings through parse train and parse apply."""
    from semparse import commands

    lines = [
        b'{"text": "gus passes to anna", "candidates": ["pass(gus, anna)", "shot(gus)"]}',
        b'{"text": "anna shoots", "candidates": ["shot(anna)"], "gold": ["shot(anna)"]}',
    ] * 3
    jsonl = b"\n".join(lines) + b"\n"
    tab = b"gus passes to anna\tpass(gus, anna);shot(gus)\nanna shoots\tshot(anna)\n" * 3
    (folder / "bags").write_bytes(jsonl)
    model = folder / "model"
    commands.train([folder / "bags"], model)

    def case(rng: random.Random) -> None:
        path, out = folder / "input", folder / "output"
        path.write_bytes(mutated(rng, rng.choice([jsonl, tab])))
        out.unlink(missing_ok=True)
        with one_sentence(ValueError, OSError):
            choice = rng.randrange(3)
            if choice == 0:
                commands.train([path], out)
            elif choice == 1:
                commands.apply(model, path, out)
            else:
                commands.evaluate(model, path)

    return case


def command_line(folder: Path) -> Case:
    """Random arguments and mutated files on the command line: exit codes 0, 1 and 2, no traceback."""
    from typer.testing import CliRunner

    from structsvm.cli.app import app

    runner = CliRunner()
    (folder / "train").write_bytes(as_columns(8))
    made = runner.invoke(app, ["train", "chunk", str(folder / "train"), "-o", str(folder / "model"), "-q"])
    assert made.exit_code == 0, made.output
    names = ["train", "model", "input", "output", "missing", "."]
    words = [
        "pos", "chunk", "ner", "label", "--epochs", "1", "0", "-C", "nan", "--template", "w[0]",
        "--inference", "greedy", "--order", "2", "--labels", "IOBES", "--format", "conllu", "--encoding",
        "latin-1", "--column", "upos", "-1", "--nbest", "3", "--scores", "--replace", "--json", "--strict",
        "IOB2", "--to", "--dtype", "int8", "--prune", "--keep-state", "--resume", "--dev", "--top",
        "--names", "--jobs", "--help", "-o",
    ]  # fmt: skip
    skeletons = [
        ["train", "chunk", "input", "-o", "output", "-q"], ["tag", "model", "input", "-o", "output"],
        ["evaluate", "model", "input"], ["evaluate", "input"], ["inspect", "model"],
        ["convert", "input", "--to", "IOBES", "-o", "output"], ["parse", "train", "input", "-o", "output"],
    ]  # fmt: skip

    def case(rng: random.Random) -> None:
        (folder / "input").write_bytes(mutated(rng, SAMPLES[rng.choice(sorted(SAMPLES))]()))
        (folder / "output").unlink(missing_ok=True)
        arguments = list(rng.choice(skeletons))
        for _ in range(rng.randrange(4)):
            arguments.insert(rng.randrange(1, len(arguments) + 1), rng.choice(words + names))
        if rng.random() < 0.2:
            arguments.append(rng.choice(PIECES).decode("latin-1"))
        paths = [str(folder / word) if word in names else word for word in arguments]
        with contextlib.redirect_stderr(io.StringIO()):
            done = runner.invoke(app, paths)
        unexpected = done.exception is not None and not isinstance(done.exception, SystemExit)
        if unexpected:
            raise Finding(f"{' '.join(arguments)!r} raised {done.exception!r}") from done.exception
        if done.exit_code not in (0, 1, 2):
            raise Finding(f"{' '.join(arguments)!r} exits with {done.exit_code}")

    return case


TARGETS: dict[str, Callable[[Path], Case]] = {
    "readers": readers,
    "models": models,
    "templates": templates,
    "parse": parse,
    "commands": command_line,
}
