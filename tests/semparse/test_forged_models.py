"""Forged model files with a right checksum: they are refused, or they work; nothing else may happen."""

import copy
import json
import resource
import subprocess
import sys
import threading
import warnings
from itertools import islice

import numpy as np
import pytest

from corpora.bags import Bag
from corpora.simulators.house import House
from semparse import ConceptLabeller, Ospas
from semparse._bags import BagLearner
from structsvm.files.persist import ModelFileError, load_model, save_model
from tests.semparse.commentary import commentary

DATA = commentary(60)[:2]
NESTED = (
    ["mother thinks the dog barks", "father thinks the cat sleeps", "the dog barks", "mother sees the cat"],
    [["think(mother, bark(dog))"], ["think(father, sleep(cat))"], ["bark(dog)", "sleep(cat)"],
     ["see(mother, cat)"]],
)  # fmt: skip
VALUES = (None, True, -1, 0, 1, 3, 1.5, 2**31, 2**70, float("nan"), float("inf"), "", "anna", "\ud800", [],
          {}, ["anna", "anna"], [["shot", 0]], {"shot": 1})  # fmt: skip
PARSERS = {
    "latent": ({}, DATA),
    "nested": ({"unnamed": 0.2}, NESTED),
    "given": ({"schema": True}, DATA),
    "paper": ({"algorithm": "paper"}, DATA),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The content of a saved model, by kind."""
    folder, content = tmp_path_factory.mktemp("saved"), {}
    for kind, (options, data) in PARSERS.items():
        if "schema" in options:
            options = {"schema": Ospas().fit(*data).schema_.to_json()}
        Ospas(**options).fit(*data).save(folder / kind)
        content[kind] = load_model(folder / kind)
    labeller().save(folder / "concepts")
    content["concepts"] = load_model(folder / "concepts")
    return content


def labeller():
    found = list(islice(House(seed=0).scenes(), 30))
    worlds = [{"location": s.universe.location, "containedby": s.universe.contained_by} for s in found]
    return ConceptLabeller(dimension=3, hidden=4, window=3, epochs=1).fit(
        [s.tokens for s in found], worlds, [s.symbols for s in found]
    )


def use_parser(path, folder):
    """Everything that a loaded parser can do."""
    parser = Ospas.load(path)
    for sentence in ("anna passes to bob", "mother thinks the dog barks", "unheard of", "shoots shoots"):
        parser.parse(sentence, n=3)
        parser.match(sentence, ["shot(anna)", "think(mother, bark(dog))"])
        parser.align(sentence, "pass(anna, bob)")
        parser.explain(sentence)
        parser.explain(sentence, "shot(anna)")
    parser.lexicon()
    if parser.schema is None:
        parser.partial_fit("anna passes zoe", ["pass(anna, zoe)", "gives(anna, to, zoe, a, ball)"])
    parser.save(folder / "again.ssvm")


def use_labeller(path, folder):
    """Everything that a loaded labeller can do."""
    model = ConceptLabeller.load(path)
    concepts = list(model.concepts_)
    world = {"location": dict(zip(concepts, reversed(concepts), strict=True)), "containedby": {}}
    model.predict([["he", "cooks", "the", "rice"], ["unheard"]], [world, {}])
    model.neighbours(concepts[0])
    model.save(folder / "again.ssvm")


def places(value, path=()):
    """The path of every value in a JSON object."""
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*path, key))


def forged_json(meta, rng):
    """The object with one value replaced, repeated, removed or exchanged with its neighbour."""
    meta = copy.deepcopy(meta)
    by_depth = {}
    for path in places(meta):
        if path and path[0] != "kind":
            by_depth.setdefault((len(path), path[:3] if path[0] == "model" else path[0]), []).append(path)
    group = list(by_depth.values())[rng.integers(len(by_depth))]  # long lists do not crowd out the rest
    *above, last = group[rng.integers(len(group))]
    parent = meta
    for key in above:
        parent = parent[key]
    change = rng.integers(4)
    if change == 0:
        del parent[last]
    elif change == 1 and isinstance(parent, list) and len(parent) > 1:
        parent[last] = parent[last - 1]
    elif change == 2 and isinstance(parent[last], list) and parent[last]:
        parent[last] = parent[last] * 2 if rng.random() < 0.5 else parent[last][:-1]
    else:
        parent[last] = VALUES[rng.integers(len(VALUES))]
    return meta


def forged_arrays(arrays, rng):
    """The arrays with one of them of another size, type or content."""
    name = list(arrays)[rng.integers(len(arrays))]
    array = arrays[name]
    extreme = np.array(array)
    if extreme.size:
        extremes = (0, -1, 2**31 - 1, np.nan) if array.dtype.kind == "f" else (0, -1, 2**31 - 1, 2**62)
        with np.errstate(all="ignore"):
            value = np.array(extremes[rng.integers(4)]).astype(array.dtype)
        extreme.flat[rng.integers(extreme.size)] = value
    changes = [
        array[:-1], array[..., None], array.ravel(), np.concatenate([array, array]), array.astype("U4"),
        array.astype(np.float16), np.full_like(array, 127), extreme, extreme, extreme,
    ]  # fmt: skip
    with np.errstate(all="ignore"):
        return {**arrays, name: changes[rng.integers(len(changes))]}


@pytest.mark.parametrize(("kind", "cases"), [("latent", 90), ("nested", 90), ("given", 40), ("paper", 120),
                                             ("concepts", 300)])  # fmt: skip
def test_a_forged_file_is_refused_or_harmless(kind, cases, saved, tmp_path):
    rng = np.random.default_rng(7)
    arrays, meta = saved[kind]
    use = use_labeller if kind == "concepts" else use_parser
    path, refused = tmp_path / "m.ssvm", 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in range(cases):
            try:
                if case % 3:
                    save_model(path, arrays, forged_json(meta, rng))
                else:
                    save_model(path, forged_arrays(arrays, rng), meta)
                use(path, tmp_path)
            except ModelFileError:
                refused += 1
    assert cases / 3 < refused < cases


def test_repeated_names_are_refused(saved, tmp_path):
    """They would number more rows than the arrays have."""
    path = tmp_path / "m.ssvm"
    for kind, parts in (("paper", ("words", "symbols", "features")), ("concepts", ("words", "concepts"))):
        for part in parts:
            arrays, meta = copy.deepcopy(saved[kind])
            names = (meta["model"] if kind == "paper" else meta)[part]
            names[:0] = names[:1] * 50
            save_model(path, arrays, meta)
            with pytest.raises(ModelFileError, match="repeat a name"):
                (Ospas if kind == "paper" else ConceptLabeller).load(path)


@pytest.mark.parametrize("command", [["apply", "m.ssvm", "t.jsonl"],
                                     ["train", "t.jsonl", "--resume", "m.ssvm", "-o", "n.ssvm"]])  # fmt: skip
def test_the_command_line_refuses_a_parser_with_repeated_words(command, tmp_path):
    bags = (Bag(text, candidates) for text, candidates in zip(*DATA, strict=True))
    (tmp_path / "t.jsonl").write_text("".join(bag.to_jsonl() for bag in bags))
    Ospas(algorithm="paper").fit(*DATA).save(tmp_path / "m.ssvm")
    arrays, meta = load_model(tmp_path / "m.ssvm")
    words = meta["model"]["words"]
    meta["model"]["words"] = words[:1] * 1_000_000 + words
    save_model(tmp_path / "m.ssvm", arrays, meta)
    call = "from structsvm.cli.entry import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", call, "parse", *command], cwd=tmp_path, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: Model file m.ssvm does not contain a consistent parser")


def test_sizes_of_a_forged_labeller_are_compared_before_anything_is_allocated(saved, tmp_path):
    arrays, meta = copy.deepcopy(saved["concepts"])
    meta["parameters"] |= {"hidden": 3000, "dimension": 3000, "window": 13}
    save_model(tmp_path / "m.ssvm", arrays, meta)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ModelFileError, match="must be float32 of shape"):
        ConceptLabeller.load(tmp_path / "m.ssvm")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KiB


def test_labels_that_a_forged_schema_adds_are_refused(saved, tmp_path):
    """Each would be a column of every table."""
    arrays, meta = copy.deepcopy(saved["latent"])
    meta["schema"]["fillers"]["shot"][0] += [f"player{k}" for k in range(1000)]
    save_model(tmp_path / "m.ssvm", arrays, meta)
    with pytest.raises(ModelFileError, match="must be those of the schema"):
        Ospas.load(tmp_path / "m.ssvm")


@pytest.mark.parametrize("algorithm", ["latent", "paper"])
def test_a_parser_is_trained_by_one_call_at_a_time(algorithm):
    parser = Ospas(algorithm=algorithm).fit(*DATA)
    refused = []

    def train_again(done, total):
        try:
            parser.partial_fit("anna shoots", ["shot(anna)"])
        except RuntimeError as error:
            refused.append(str(error))

    before = parser.parse("anna shoots")
    parser.fit(*DATA, progress=train_again)
    assert refused
    assert set(refused) == {"this Ospas is being trained; wait until training ends, or use another one"}
    assert parser.parse("anna shoots") == before
    parser.partial_fit("anna shoots", ["shot(anna)"])


def test_threads_that_train_the_same_parser_are_refused_and_do_not_crash(tmp_path):
    """In a process of its own: the failure would be a segmentation fault."""
    (tmp_path / "data.json").write_text(json.dumps(DATA))
    program = """
import json, threading
from semparse import Ospas
sentences, bags = json.load(open("data.json"))
parser = Ospas(algorithm="paper").fit(sentences, bags)
outcomes = []
def train(number):
    for k in range(60):
        words = [f"w{number}x{k}x{i}" for i in range(40)]
        try:
            parser.partial_fit(words, [f"r{number}x{k}(a, b)", f"s{number}x{k}(a, b)"])
            outcomes.append("trained")
        except RuntimeError:
            outcomes.append("refused")
threads = [threading.Thread(target=train, args=(n,)) for n in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
parser.save("m.ssvm")
Ospas.load("m.ssvm").parse(sentences[0])
print(len(outcomes), "trained" in outcomes)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "240 True\n"), done.stderr


def test_a_bag_learner_is_not_changed_while_a_thread_labels():
    learner = BagLearner(0.1, 0)
    learner.grow(4000, 300)
    ids, ptr = np.arange(4000, dtype=np.int32), np.arange(4001, dtype=np.int64)
    bag = np.zeros((1, 300), np.int32)
    bag[0, 7] = 20
    groups = np.zeros(4000, np.int32)
    thread = threading.Thread(target=learner.label, args=(ids, ptr, groups, bag, 2, False))
    thread.start()
    refused = False
    while thread.is_alive() and not refused:
        try:
            learner.grow(1, 1)
        except RuntimeError:
            refused = True
    thread.join()
    assert refused
    learner.grow(5000, 300)


def test_a_bag_learner_refuses_numbers_out_of_range():
    learner = BagLearner(0.1, 0)
    learner.grow(3, 2)
    one, zero = np.array([0, 1], np.int64), np.zeros(1, np.int32)
    bag = np.ones((1, 2), np.int32)
    with pytest.raises(IndexError):
        learner.scores(np.array([3], np.int32), True)
    with pytest.raises(IndexError):
        learner.label(np.array([-1], np.int32), one, zero, bag, 0, False)
    for ptr, groups, bags in ((one + 1, zero, bag), (one, zero + 1, bag), (one, zero, bag[:, :1].copy())):
        with pytest.raises(ValueError, match="do not fit"):
            learner.label(np.array([0], np.int32), ptr, groups, bags, 0, False)


def test_a_sentence_of_two_relations_without_arguments_is_parsed():
    parser = Ospas(algorithm="paper").fit(["kick"] * 5, [["kick"]] * 5)
    assert [str(parse) for parse in parser.parse("kick kick")] == ["kick"]
