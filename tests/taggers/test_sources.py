"""Every option works the same for data in memory, on disk and on a cluster, or the table refuses it."""

import math
from contextlib import nullcontext

import numpy as np
import pytest

from structsvm.options import SOURCES
from taggers import Chunker
from taggers.commands import train
from taggers.features import packages
from taggers.labels.files import read_labelled
from taggers.model import TaggerModel
from taggers.options import TaggerOptions, TrainOptions
from taggers.sources.disk import DiskSource
from taggers.sources.memory import MemorySource
from tests.taggers.sentences import as_columns

pytest.importorskip("distributed")
from distributed import Client, LocalCluster

from taggers.sources.cluster import ClusterSource

pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask
BASE = {"template": "w[-1..1], p[0]", "epochs": 2}
FILE = "names.txt"  # with a name, or a word and its class, in each line


def test_a_survey_can_be_repeated_for_another_task(sources):
    for kind in SOURCES:
        tasks = [sources[kind].survey(task).columns["task"] for task in ("chunk", "ner", "chunk")]
        assert tasks == ["chunk", "ner", "chunk"]


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    (folder / "train.txt").write_bytes(as_columns(60))
    (folder / FILE).write_text("Anna 1\nOtto 2\n")
    data, held_out = read_labelled(folder / "train.txt"), read_labelled(folder / "train.txt")
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None)
    with cluster, Client(cluster) as client:
        yield {
            "folder": folder,
            "held_out": tuple(held_out),
            "memory": MemorySource(*data, file=data),
            "disk": DiskSource(folder / "train.txt", 10**10),
            "cluster": ClusterSource(client, folder / "train.txt"),
        }


def fitted(sources, kind, *held_out, **options):
    """A trained tagger; options that name FILE get its path."""
    given = {name: sources["folder"] / FILE if value == FILE else value for name, value in options.items()}
    return Chunker(**BASE | given).fit_source(sources[kind], *held_out)


def weights(tagger):
    """The weights by the keys of their features, whatever the order of the features and labels."""
    model = tagger.model_
    rows = model.weights.dense(len(model.labels))[model.first_row :]
    return rows[np.argsort(model.space.table.keys)][:, np.argsort(model.labels)]


def calls(option):
    """How often a callback that asks for the end is called."""
    seen = []
    return {"callback": lambda point: seen.append(point) or True}, lambda tagger: len(seen)


# For each option a value, and what must be the same for all sources: a result, or whether the weights change.
CHANGED, UNCHANGED = "changed", "unchanged"
EFFECTS = {
    "template": ("w[0]", lambda tagger: tagger.model_.space.template.text),
    "classes": (FILE, None),
    "knowledge": ("en", None),
    "text": (FILE, None),
    "class_words": (1, None),
    "n_classes": (5, None),
    "gazetteers": ({"names": ["Anna"]}, None),
    "fold_gazetteers": (True, None),
    "vectors": ({"Anna": [1.0]}, None),
    "features": (lambda tokens, at: {"long": 1}, None),
    "documents": (7, None),
    "algorithm": ("pa", None),
    "inference": ("greedy", lambda tagger: tagger.model_.labels.inference),
    "order": (0, lambda tagger: (tagger.model_.labels.inference, tagger.model_.labels.order)),
    "epochs": (3, lambda tagger: tagger.model_.report["epochs"]),
    "C": (3.0, CHANGED),
    "reprocess": (0, CHANGED),
    "cutoff": (3, lambda tagger: sorted(tagger.model_.space.table.keys.tolist())),
    "labels": ("IOB2", lambda tagger: sorted(tagger.model_.labels)),
    "constrained": (False, lambda tagger: tagger.model_.labels.constrained),
    "share": (True, None),
    "label_weight": ({"phrases": 3.0}, CHANGED),
    "keep_names": (True, lambda tagger: sorted(tagger.model_.space.names)),
    "max_features": (10, UNCHANGED),
    "max_support": (10, UNCHANGED),
    "patience": (0, lambda tagger: len(tagger.dev_scores_)),
    "random_state": (7, CHANGED),
    "jobs": (2, UNCHANGED),
    "shards": (3, CHANGED),
    "callback": (calls, None),
}


def test_the_walk_knows_every_option():
    assert EFFECTS.keys() == TaggerOptions.OPTIONS.keys()


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("name", EFFECTS)
def test_an_option_has_the_same_effect_from_every_source_or_is_refused(sources, name, kind, monkeypatch):
    names = packages.Part("city", "names of cities", (), lambda language: ["Anna"], gazetteer=True)
    monkeypatch.setattr(packages, "PARTS", (names,))  # the real ones are optional
    value, effect = EFFECTS[name]
    option = TaggerOptions.OPTIONS[name]
    given = {name: value} | {other: EFFECTS[other][0] for other in list(option.needs)[:1]}
    if name == "callback":
        given, effect = calls(option)
    elif "algorithm" in option.needs or name == "share":
        given = {name: value} | ({"inference": "greedy", "constrained": False} if name == "share" else {})
    held_out = sources["held_out"] if name == "patience" else ()
    if kind not in option.sources or (name == "algorithm" and kind != "memory"):
        with pytest.raises(ValueError, match=rf"has no effect on training from {kind}|only from memory"):
            fitted(sources, kind, *held_out, **given)
        return
    found = fitted(sources, kind, *held_out, **given)
    if effect in (CHANGED, UNCHANGED):
        usual = fitted(sources, kind, **{"shards": 1} if name == "shards" else {})
        assert np.array_equal(weights(found), weights(usual)) == (effect == UNCHANGED)
    elif effect is not None:
        result = effect(found)
        if name == "callback":
            assert result == 1
        else:
            assert result == effect(fitted(sources, "memory", *held_out, **given))


@pytest.mark.parametrize("kind", SOURCES)
def test_a_model_has_the_labels_of_its_data_from_every_source(sources, kind):
    assert sorted(fitted(sources, kind).model_.labels) == sorted(fitted(sources, "memory").model_.labels)


@pytest.mark.parametrize("kind", SOURCES)
def test_held_out_data_stop_training_in_time_from_every_source(sources, kind):
    tagger = fitted(sources, kind, *sources["held_out"], epochs=9, patience=0)
    assert len(tagger.dev_scores_) == tagger.model_.report["epochs"] == 1
    assert tagger.model_.report["dev_score"] == "F1"
    assert tagger.score(*sources["held_out"]) > 0.9


@pytest.mark.parametrize("kind", SOURCES)
def test_a_callback_gets_scores_and_the_gap_from_every_source(sources, kind):
    class Watch(list):
        primal = True
        __call__ = list.append

    watch = Watch()
    watch.scores = []
    watch.scored = watch.scores.append
    tagger = fitted(sources, kind, *sources["held_out"], callback=watch)
    assert watch.scores == tagger.dev_scores_
    last = [point for point in watch if not math.isnan(point.gap)]
    assert [point.epoch for point in last] == [0, 1]
    assert last[-1].sentences == 60
    assert last[-1].dual == pytest.approx(tagger.model_.report["dual"])


@pytest.mark.parametrize("kind", SOURCES)
def test_an_interrupted_training_keeps_what_it_has_learned_from_every_source(sources, kind):
    def interrupt(point):
        raise KeyboardInterrupt

    tagger = Chunker(**BASE, callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        tagger.fit_source(sources[kind])
    assert tagger.score(*sources["held_out"]) > 0.5


# For each option of the command `train` that works for every source: a value, and what the model then shows.
TRAINED = {
    "dev": ("train.txt", lambda model: model.report["dev_score"] == "F1"),
    "dtype": ("int8", lambda model: len(np.unique(model.weights.dense(len(model.labels)))) < 256),
    "prune": (1e9, lambda model: len(model.space) == 0),
    "calibrate": (True, lambda model: model.probable),
    "fit_bias": (True, lambda model: model.bias == {"O": 0.5}),
}
PLACES = {"memory": {}, "disk": {"memory": "4G"}, "cluster": {"cluster": "local:1"}}


@pytest.fixture
def command(sources, monkeypatch):
    """`train` of a task on a file, from a source; it returns the model."""
    client = nullcontext(sources["cluster"].client)
    monkeypatch.setattr("structsvm.integrations.dask.connected", lambda address: client)
    monkeypatch.setattr("taggers.tagger.BIASES", (0.5,))
    model = sources["folder"] / "command.ssvm"

    def trained(task, file, kind, **options):
        given = {k: sources["folder"] / v if k == "dev" else v for k, v in options.items()}
        train(task, file, model, **PLACES[kind], **given)
        return TaggerModel.load(model)

    return trained


def test_the_walk_knows_every_option_of_the_command():
    everywhere = {name for name, one in TrainOptions.OPTIONS.items() if len(one.sources) == len(SOURCES)}
    assert everywhere - TRAINED.keys() == {"cluster", "memory", "checkpoint"}


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.filterwarnings("ignore")
def test_an_option_of_the_command_has_the_same_effect_from_every_source(sources, command, name, kind):
    value, effect = TRAINED[name]
    needed = {other: TRAINED[other][0] for other in TrainOptions.OPTIONS[name].needs}
    assert effect(command("chunk", sources["folder"] / "train.txt", kind, **BASE, **{name: value}, **needed))


@pytest.mark.parametrize("kind", SOURCES)
def test_labels_that_are_only_types_mark_phrases_from_every_source(sources, command, kind):
    file = sources["folder"] / "types.txt"
    file.write_text("Anna PER\nsleeps O\n\nin O\nTurin LOC\nBonn LOC\n\n" * 3)
    with pytest.warns(UserWarning, match=r"types\.txt.*: labels such as \w+ are read as I-"):
        model = command("ner", file, kind)
    assert sorted(model.names) == ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"]


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize(
    ("task", "label", "warning"),
    [
        ("chunk", "-1", r"odd.*: 5 labels are out of place in IOB2 \(.*I-PER\)"),
        ("ner", "-1", r"odd.*the label B-PRE is rare; did you mean B-PER\?"),
        ("pos", "-1", r"odd.*: the labels mark phrases, such as B-PER"),
        ("ner", "1", "all tokens have the label X"),
        ("chunk", "0", r"odd.*: the labels do not mark phrases"),
    ],
)
def test_labels_that_look_wrong_are_reported_from_every_source(sources, command, kind, task, label, warning):
    file = sources["folder"] / "odd.txt"
    right, wrong, typo = "in X O\nAnna X B-PER\n\n", "so X O\nLee X I-PER\n\n", "Ann X B-PRE\n\n"
    file.write_text(110 * right + 5 * wrong + typo)
    with pytest.warns(UserWarning, match=warning):
        command(task, file, kind, label=label, epochs=1)


@pytest.mark.parametrize("place", [{"memory": "1G"}, {"cluster": "local:1"}], ids=str)
@pytest.mark.parametrize(
    "name", [name for name, one in TrainOptions.OPTIONS.items() if len(one.sources) == 1]
)
def test_options_for_data_in_memory_are_refused_before_training(sources, place, name):
    file, flag = sources["folder"] / "train.txt", TrainOptions.OPTIONS[name].flag
    with pytest.raises(ValueError, match=f"^{flag} cannot be combined with --{next(iter(place))}"):
        train("chunk", file, sources["folder"] / "m", **place, **{name: "x"})
    with pytest.raises(ValueError, match="several label columns"):
        train("label", file, sources["folder"] / "m", **place, label=[1, 2])
    assert not (sources["folder"] / "m").exists()


@pytest.mark.parametrize("place", [{}, {"memory": "4G"}], ids=str)
def test_settings_are_compared_on_held_out_data_from_every_source(sources, place):
    file = sources["folder"] / "train.txt"

    def watch(point):
        pass

    found = []
    watch.compared = lambda settings, score: found.append(settings)
    train("ner", file, sources["folder"] / "n", dev=file, callback=watch, epochs=1, calibrate=True, **place)
    assert found == ["exact, IOBES", "greedy, IOB2"]
