"""What is fuzzed: each target prepares its files once and runs cases that a random generator decides."""

from __future__ import annotations

import contextlib
import io
import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.files.persist import ModelFileError
from tests.fuzz.http import http
from tests.fuzz.mutate import PIECES, damaged, forge, mutated, tricked
from tests.fuzz.services import journals, services
from tests.taggers.crfsuite_models import SMALL, crfsuite_model
from tests.taggers.sentences import as_columns, as_conllu, chunk_data, sentences, with_words

Case = Callable[[random.Random], None]
FOREIGN = Path(__file__).parent.parent / "taggers" / "foreign"  # models of other programs
Kind = tuple[Any, Callable[[Any, Path], None]]  # a model, and what a user does with one from a file


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


NUMBERS = ["0.5", "t:-1", "_", "1e3", "t:0"]
VALUES: dict[str, Any] = {"template": "w[0], p.value[-1..0]"}
DOCUMENTS: dict[str, Any] = {"template": "w[0], doc_form[0], doc_label[0]", "documents": 5}


def number_file(n: int) -> bytes:
    """Sentences with numbers instead of parts of speech."""
    lines = [(f"{w} {NUMBERS[len(w) % 5]} {c}\n" for w, _, c in tokens) for tokens in sentences(n)]
    return "\n".join("".join(tokens) for tokens in lines).encode()


SAMPLES = {
    "columns": lambda: as_columns(8),
    "numbers": lambda: number_file(8),
    "conllu": lambda: as_conllu(8),
    "crfsuite": lambda: crfsuite_file(8),
    "svmhmm": lambda: svmhmm_file(8),
    "text": lambda: b"Anna sees the old house. It is near Turin!\nNo cat likes 12 trains.\n",
}


FORMATS = ["auto", "columns", "conllu", "crfsuite", "svmhmm", "text"]


def operations(folder: Path) -> Callable[..., None]:
    """A function that reads a file by one of five commands: an output, or one sentence and no output."""
    from taggers import commands

    models = {}
    tasks = {"columns": "chunk", "numbers": "chunk", "conllu": "pos", "crfsuite": "label", "svmhmm": "label"}
    for name, task in tasks.items():
        (folder / name).write_bytes(SAMPLES[name]())
        models[name] = folder / f"{name}.ssvm"
        commands.train(task, folder / name, models[name], **(VALUES if name == "numbers" else {}))
    models["text"] = models["conllu"]
    out = folder / "output"

    def read(path: Path, rng: random.Random, name: str, choice: int, **common: Any) -> None:
        out.unlink(missing_ok=True)
        refused = True
        with one_sentence(ValueError, OSError):
            if choice == 0:
                task = rng.choice(["chunk", "ner", "label", "pos"])
                options = rng.choice([{}, DOCUMENTS, VALUES if name == "numbers" else {}])
                commands.train(task, path, out, epochs=1, **options, **common)
            elif choice == 1:
                commands.tag(models[name], path, out, scores=rng.random() < 0.3, **common)
            elif choice == 2:
                commands.evaluate(models[name], path, **common)
            elif choice == 3:
                commands.evaluate(None, path, **common)
            else:
                commands.convert(path, out, to=rng.choice(["IOBES", "IOB1"]), **common)
            refused = False
        if refused and out.exists():
            raise Finding("refused, and yet there is an output")

    return read


def readers(folder: Path) -> Case:
    """Mutated files of every format through train, tag, evaluate and convert."""
    read = operations(folder)

    def case(rng: random.Random) -> None:
        name = rng.choice(sorted(SAMPLES))
        path = folder / "input"
        path.write_bytes(mutated(rng, SAMPLES[name]()))
        format = rng.choice(["auto", "auto", "columns" if name == "numbers" else name, rng.choice(FORMATS)])
        encoding = rng.choice(["utf-8", "utf-8", "utf-8", "latin-1", "utf-16"])
        model = rng.choice([name, name, rng.choice(sorted(SAMPLES))])
        read(path, rng, model, rng.randrange(5), format=format, encoding=encoding)

    return case


def tagger_kinds(folder: Path) -> dict[str, Kind]:
    """Taggers of every inference, algorithm, kind of feature and type of weight."""
    from taggers import Chunker, PosTagger, SequenceTagger, commands

    X, y = chunk_data(10)
    template = "w[-1..1], p[0], suffix2[0], cluster[0], y[-1]|p[0]"
    ready = [[{"w": token[0], "x": 0.3} for token in s] for s in X]
    numbers = [[(word, number) for (word, _), number in zip(s, NUMBERS * 9, strict=False)] for s in X]
    vectors = {word: [float(len(word)), -0.5, 2.0] for s in X for word, _ in s}
    runner = cli_runner()

    def use(model: Any, path: Path) -> None:
        template, data = model.model_.space.template, "columns"
        sentence: list[Any] = [("the", "DT"), ("cat", "NN")]
        if template is None:
            sentence = [{"w": "cat", "x": 0.5}, {"w": "dog"}]
        elif any(pattern.text.startswith("p.value") for pattern in template.real):
            sentence, data = [("the", "0.5"), ("cat", "t:2")], "numbers"
        with one_sentence(ValueError):  # a template may ask for columns that the sentence lacks
            model.predict([sentence])
            model.predict_margins([sentence])
            model.explain(sentence)
            if model.model_.labels.inference == "exact":
                model.predict_nbest([sentence], 2)
        runner("inspect", path)
        runner("tag", path, folder / data, "-o", folder / "output")
        if len(model.model_.labels) > 500:  # training needs memory for labels x features
            return
        with one_sentence(ValueError):
            model.partial_fit([sentence], [[y[0][0], y[0][1]]])
            model.save(folder / "again", training_state=True)

    (folder / "columns").write_bytes(as_columns(3))
    (folder / "numbers").write_bytes(number_file(3))
    (folder / "conllu").write_bytes(as_conllu(8))
    commands.train("pos", folder / "conllu", folder / "pos.ssvm", keep_state=True)
    models: dict[str, Any] = {
        "exact": Chunker(template=template, keep_names=True).fit(X, y),
        "greedy": SequenceTagger(template=template, inference="greedy", order=2).fit(X, y),
        "perceptron": SequenceTagger(template="w[0]", algorithm="perceptron").fit(X, y),
        "ready": SequenceTagger().fit(ready, y),
        "knowledge": Chunker(
            classes={"brown": {X[0][0][0]: "0101", X[0][1][0]: "0110"}, "tags": {X[0][0][0]: ["D", "N"]}},
            gazetteers={"list": [X[0][1][0], f"{X[0][0][0]} {X[0][1][0]}"]},
        )
        .fit(X, y)
        .calibrate(X, y),
        "pos": PosTagger.load(folder / "pos.ssvm"),
        "values": SequenceTagger(template=VALUES["template"], keep_names=True).fit(numbers, y),
        "vectors": SequenceTagger(template="w[0], vectors[-1..0]", vectors=vectors).fit(X, y),
        "documents": Chunker(**DOCUMENTS).fit(X, y),
    }
    (folder / "ud").write_bytes(with_words(6))
    (folder / "text").write_bytes(SAMPLES["text"]())

    def fill(model: Any, path: Path) -> None:
        model.predict([["Anna", "sees", "cats"]])
        runner("inspect", path)
        for data in ("ud", "text"):
            runner("tag", path, folder / data, "-o", folder / "output")
        runner("evaluate", path, folder / "ud")
        model.save(folder / "again")

    pipeline = commands.train_ud(folder / "ud", folder / "ud.ssvm")
    return {name: (model, use) for name, model in models.items()} | {"ud": (pipeline, fill)}


def classifier_kinds() -> dict[str, Kind]:
    """Classifiers of every kernel, from dense and sparse rows, and every binary machine."""
    import scipy.sparse

    from structsvm import LaRankClassifier, binary

    rng = np.random.default_rng(0)
    points, three, two = rng.normal(size=(30, 3)), np.arange(30) % 3, np.arange(30) % 2

    def use(model: Any, path: Path) -> None:
        X: Any = points[:6]
        if model.n_features_in_ != 3:  # a file of sparse vectors may name any number of features
            width = min(model.n_features_in_, 10**6)
            X = scipy.sparse.csr_array((points[:6, 0], ([*range(6)], [0] * 6)), (6, width))
        if X.shape[1] != model.n_features_in_:
            with one_sentence(ValueError):
                model.predict(X)
            return
        model.predict(X)
        model.decision_function(X)
        with one_sentence(ValueError):
            model.partial_fit(X, model.classes_[np.arange(6) % len(model.classes_)])
            model.save(path.with_name("again"))

    made: dict[str, Kind] = {}
    for kernel in ("linear", "rbf", "poly"):
        for name, X in (("", points), ("-sparse", scipy.sparse.csr_array(points))):
            made[kernel + name] = (LaRankClassifier(kernel=kernel).fit(X, three), use)
        made[f"{kernel}-words"] = (
            LaRankClassifier(kernel=kernel, class_weight={"a": 2.0}).fit(points, np.array(["b", "a"])[two]),
            use,
        )
        for name in ("HullerClassifier", "KernelPassiveAggressive", "KernelPerceptron", "LaSVMClassifier",
                     "TrackingClassifier"):  # fmt: skip
            made[f"{name}-{kernel}"] = (getattr(binary, name)(kernel=kernel).fit(points, two), use)
    made["LaSVMClassifier-three"] = (binary.LaSVMClassifier().fit(points, three), use)
    made["KernelPerceptron-mean"] = (binary.KernelPerceptron(average=True).fit(points, two), use)
    made["SGDQNClassifier"] = (binary.SGDQNClassifier().fit(points, two), use)
    made["LaSVMClassifier-sparse"] = (binary.LaSVMClassifier().fit(scipy.sparse.csr_array(points), two), use)
    return made


def parser_kinds(folder: Path) -> dict[str, Kind]:
    """Semantic parsers of every algorithm and solver, and the labeller of concepts."""
    from semparse import ConceptLabeller, Ospas

    said = ["gus passes to anna", "anna shoots", "gus shoots", "anna passes to gus"] * 3
    meant = [["pass(gus, anna)", "shot(gus)"], ["shot(anna)"], ["shot(gus)", "pass(gus, anna)"],
             ["pass(anna, gus)"]] * 3  # fmt: skip
    heard = [["he", "cooks", "rice"], ["anna", "sleeps"]] * 4
    worlds = [{"loc": {"anna": "kitchen", "rice": "kitchen"}}, {"loc": {"anna": "bed"}}] * 4
    concepts = [["anna", "cook", "rice"], ["anna", "sleep"]] * 4
    runner = cli_runner()
    (folder / "bags").write_text("gus passes to anna\tpass(gus, anna);shot(gus)\n")

    def use(model: Any, path: Path) -> None:
        model.parse("gus passes to anna")
        model.parse("hello there")
        runner("parse", "apply", path, folder / "bags", "-o", folder / "output")
        with one_sentence(ValueError):
            model.partial_fit(said[:2], meant[:2])
            model.match(said[0], meant[0])
            model.save(folder / "again")

    def label(model: Any, path: Path) -> None:
        model.predict(heard[:2], worlds[:2])
        model.neighbours(next(iter(model.concepts_)))
        model.save(folder / "again")

    nested = ["left(a, near(b, c))", "near(b, c)"]
    models = {
        "latent": Ospas().fit(said, meant),
        "pa": Ospas(solver="pa", unnamed=0.2).fit(said, meant),
        "nested": Ospas(unnamed=0.2).fit(["a left of b near c", "b near c"] * 3, [nested, nested[1:]] * 3),
        "clauses": Ospas(clauses=2, empty_bags="nothing").fit([*said, "hello"], [*meant, []]),
        "thesis": Ospas(algorithm="paper").fit(said, meant),
        "thesis-random": Ospas(algorithm="paper", strategy="random", average=False).fit(said, meant),
    }
    labeller = ConceptLabeller(relations=("loc",), epochs=2).fit(heard, worlds, concepts)
    return {name: (model, use) for name, model in models.items()} | {"concepts": (labeller, label)}


def cli_runner() -> Callable[..., None]:
    """A function that runs a command in this process: exit codes 0, 1 and 2, no traceback."""
    from typer.testing import CliRunner

    from structsvm.cli.app import app

    runner = CliRunner()

    def run(*arguments: Any) -> None:
        with contextlib.redirect_stderr(io.StringIO()):
            done = runner.invoke(app, [str(argument) for argument in arguments])
        shown = " ".join(Path(str(argument)).name for argument in arguments)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise Finding(f"{shown!r} raised {done.exception!r}") from done.exception
        if done.exit_code not in (0, 1, 2):
            raise Finding(f"{shown!r} exits with {done.exit_code}")

    return run


def model_files(folder: Path) -> Callable[[str, Path], None]:
    """Save a model of every kind to the folder; return a function that loads a file and uses it."""
    prepared = folder / "prepared"
    prepared.mkdir()
    made = tagger_kinds(prepared) | classifier_kinds() | parser_kinds(prepared)
    files = folder / "files"
    files.mkdir()
    for name, (model, _) in made.items():
        model.save(files / name)
        with contextlib.suppress(TypeError, ValueError):
            model.save(files / f"{name}+state", training_state=True)
    for dtype in ("float16", "int8"):
        made[dtype] = made["exact"]
        made["exact"][0].save(files / dtype, dtype=dtype)

    def load_and_use(name: str, path: Path) -> None:
        model, use = made[name]
        loaded = None
        with one_sentence(ModelFileError):
            loaded = type(model).load(path)
        if loaded is not None:
            use(loaded, path)

    return load_and_use


def models(folder: Path) -> Case:
    """Damaged and forged files of every kind of model: refused by ModelFileError, or of use."""
    load_and_use = model_files(folder)
    files = sorted((folder / "files").iterdir())

    def case(rng: random.Random) -> None:
        source, target = rng.choice(files), folder / "input"
        choice = rng.random()
        if choice < 0.2:
            target.write_bytes(damaged(rng, source.read_bytes()))
        elif choice < 0.25:
            tricked(rng, source, target)
        else:
            forge(rng, source, target, rng.choice(files))
        (folder / "input.kind").write_text(source.name.partition("+")[0])
        load_and_use(source.name.partition("+")[0], target)

    return case


def foreign(folder: Path) -> Case:
    """Damaged and forged models of other programs: refused by ModelFileError, or of use."""
    from taggers import SequenceTagger

    samples = [
        crfsuite_model(*SMALL),
        crfsuite_model(["O"], [f"w{k}" for k in range(300)], {(7, 0): 1.0}, {}),
        crfsuite_model(["O"], [""] * 300, {(7, 0): 1.0}, {}, nested=True),
        (FOREIGN / "small.wapiti").read_bytes(),
        (FOREIGN / "small.crfpp").read_bytes(),
    ]
    path = folder / "input"

    def case(rng: random.Random) -> None:
        data = bytearray(rng.choice(samples))
        for _ in range(rng.randrange(4)):  # numbers of four bytes are counts, offsets and codes
            at = rng.choice([4 * rng.randrange(30), rng.randrange(len(data) - 4)])
            at = min(at, len(data) - 4)
            old = int.from_bytes(data[at : at + 4], "little")
            value = rng.choice([0, 1, 2**31 - 1, 2**32 - 1, len(data), old + 1, old ^ 1 << rng.randrange(32)])
            data[at : at + 4] = (value % 2**32).to_bytes(4, "little")
        path.write_bytes(mutated(rng, bytes(data)) if rng.random() < 0.3 else data)
        tagger = None
        with one_sentence(ModelFileError):
            tagger = SequenceTagger.load(path)
        if tagger is not None:
            X: list[Any] = [[("the", "N"), ("cat", "V")], [("x", "y")]]
            if tagger.model_.space.template is None:
                X = [[["w=dog", "cap"], {"w7": 0.5}], [[]]]
            with one_sentence(ValueError):  # a template may ask for columns that the sentences lack
                tagger.predict(X)
                tagger.predict_marginals(X)
            tagger.save(folder / "output", dtype="int8")

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


def knowledge(folder: Path) -> Case:
    """Mutated files of word classes, vectors and gazetteers, through train and classes."""
    from taggers import commands

    (folder / "train").write_bytes(as_columns(6))
    samples = [
        b"0010\tcat\t5\n0110\tdog\t9\n111\thouse\t2\n", b"walk\tNOUN\tVERB\nsaw\tVERB\n", b"cat 7\ndog 8\n",
        b"3 4\ncat 0.1 0.2 0.3 1\ndog 1 2 3 -4e2\nthe 1 0 0 1\n", b"New York\nTurin\nthe old house\n",
    ]  # fmt: skip
    path, out = folder / "input", folder / "output"

    def case(rng: random.Random) -> None:
        path.write_bytes(mutated(rng, rng.choice(samples)))
        out.unlink(missing_ok=True)
        refused = True
        with one_sentence(ValueError, OSError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if rng.random() < 0.2:
                commands.classes([path], out, n_classes=3)
            else:
                option = rng.choice([{"classes": path}, {"gazetteers": [f"list={path}"]}, {"text": path},
                                     {"vectors": [path]}])  # fmt: skip
                commands.train("label", folder / "train", out, epochs=1, n_classes=3, **option)
            refused = False
        if refused and out.exists():
            raise Finding("refused, and yet there is an output")

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


def logs(folder: Path) -> Case:
    """Mutated files of texts and events with times through parse windows."""
    from semparse import commands

    texts = [
        b"time,text,gold,id\n2,good morning,,1\n10,it is too dark,turn_on(lamp);ring,2\n" * 2,
        b'{"time": "2026-05-01T10:00:10", "text": "it is too dark", "gold": ["turn_on(lamp)"]}\n' * 2,
    ]
    events = [
        b'{"time": 11.5, "meaning": "turn_on(lamp)"}\n{"start": 3, "end": 5, "rel": "open", "args": ["a"]}\n',
        b'start;end;meaning\n2026-05-01T10:00:11Z;;turn_on(lamp)\n2026-05-01;2026-05-02;"say(""a;b"")"\n',
    ]
    (folder / "texts").write_bytes(texts[0])
    (folder / "events").write_bytes(events[0])

    def case(rng: random.Random) -> None:
        out = folder / "output"
        paths = {"texts": folder / "texts", "events": folder / "events"}
        name = rng.choice(sorted(paths))
        (folder / "input").write_bytes(mutated(rng, rng.choice(texts if name == "texts" else events)))
        paths[name] = folder / "input"
        out.unlink(missing_ok=True)
        refused = True
        with one_sentence(ValueError, OSError):
            commands.windows(paths["texts"], paths["events"], out)
            refused = False
        if refused == out.exists():
            raise Finding("refused, but with output" if refused else "no output")

    return case


def pipelines(folder: Path) -> Case:
    """Mutated CoNLL-U through train ud, and any file through tag and evaluate with its model."""
    from taggers import commands

    whole = with_words(4)
    (folder / "train").write_bytes(whole)
    model, path, out = folder / "model", folder / "input", folder / "output"
    commands.train_ud(folder / "train", model)

    def case(rng: random.Random) -> None:
        name = rng.choice(["conllu", "conllu", rng.choice(sorted(SAMPLES))])
        path.write_bytes(mutated(rng, whole if name == "conllu" else SAMPLES[name]()))
        out.unlink(missing_ok=True)
        choice, refused = rng.randrange(3), True
        with one_sentence(ValueError, OSError):
            if choice == 0:
                commands.train_ud(path, out, dev=folder / "train" if rng.random() < 0.2 else None)
            elif choice == 1:
                commands.tag(model, path, out, scores=rng.random() < 0.3)
            else:
                commands.evaluate_any(model, path)
            refused = False
        if refused and out.exists():
            raise Finding("refused, and yet there is an output")

    return case


def command_line(folder: Path) -> Case:
    """Random arguments and mutated files on the command line: exit codes 0, 1 and 2, no traceback."""
    runner = cli_runner()
    (folder / "train").write_bytes(as_columns(8))
    runner("train", "chunk", folder / "train", "-o", folder / "model", "-q")
    assert (folder / "model").exists()
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
        runner(*(str(folder / word) if word in names else word for word in arguments))

    return case


TARGETS: dict[str, Callable[[Path], Case]] = {
    "readers": readers,
    "models": models,
    "foreign": foreign,
    "templates": templates,
    "knowledge": knowledge,
    "parse": parse,
    "logs": logs,
    "pipelines": pipelines,
    "services": services,
    "http": http,
    "journals": journals,
    "commands": command_line,
}
