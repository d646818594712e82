"""`python -m benchmarks reproduce`: names, missing corpora, a run on simulated data and what it writes."""

import inspect
import json
from importlib import import_module

import pytest
from typer.testing import CliRunner

from benchmarks import experiment
from benchmarks.cli import app
from benchmarks.experiment import BORDES, Curve, Figure, Outcome, Row
from benchmarks.harness import measurements
from corpora import CORPORA

TABLES = ("4.1", "4.3", "4.4", "5.2", "5.3", "5.4", "5.5", "5.6", "5.7", "6.1", "6.2", "C.2")
FIGURES = (
    "3.1", "3.2", "4.3", "4.4", "4.9", "4.17", "5.1", "5.2", "5.3", "5.4", "5.5", "5.6", "6.3", "6.4", "C.3",
)  # fmt: skip
THESIS = [*(f"table-{number}" for number in TABLES), *(f"figure-{number}" for number in FIGURES)]


def reproduce(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def registered(monkeypatch):
    """A registry of two experiments of our own: one simulated, one that needs a corpus."""
    monkeypatch.setattr("benchmarks.reproduce.experiments", lambda: registry)  # imports it: must come first
    monkeypatch.setattr(experiment, "experiments", lambda: registry)
    registry = {}

    def add(name, run, corpora=()):
        registry[name] = experiment.Experiment(name, f"What {name} shows", BORDES, corpora, "", {}, run)

    add("table-9.1", lambda quick: Outcome([Row("LaRank", "F1", 0.5, [0.25] if quick else [0.25, 0.75])]))
    add("table-9.2", lambda quick: Outcome(), ("conll2000",))
    return add


def test_all_experiments_are_listed_with_known_corpora_and_one_line_each():
    listed = reproduce("--list").stdout.splitlines()
    known = experiment.experiments()
    assert [line.split()[0] for line in listed] == list(known)
    assert set(THESIS) <= set(known)
    assert all(corpus in CORPORA for entry in known.values() for corpus in entry.corpora)


def test_the_papers_number_is_shown_with_ours_and_kept_as_markdown_and_json(registered, tmp_path):
    done = reproduce("table-9.1", "-o", tmp_path / "new" / "folder")
    assert done.exit_code == 0, done.stderr
    assert "| LaRank | F1 | 0.5 | 0.50 ± 0.35 | +0.00 | matches | 2 |" in done.stdout
    assert (tmp_path / "new/folder/table-9.1.md").read_text() in done.stdout
    (row,) = json.loads((tmp_path / "new/folder/table-9.1.json").read_text())["rows"]
    assert (row["paper"], row["ours"], row["difference"]) == (0.5, [0.25, 0.75], 0.0)


def test_a_quick_run_never_replaces_a_full_one(registered, tmp_path):
    assert reproduce("table-9.1", "-o", tmp_path).exit_code == 0
    assert reproduce("table-9.1", "--quick", "-o", tmp_path).exit_code == 0
    assert "Quick" not in (tmp_path / "table-9.1.md").read_text()
    assert "| -0.25 | differs | 1 |" in (tmp_path / "table-9.1-quick.md").read_text()


def test_figures_are_drawn_and_their_data_kept(registered, tmp_path):
    pytest.importorskip("matplotlib")
    line = Figure("sentences", "seconds", [Curve("LaRank", [1, 2], [3.0, 4.0])], log="xy")
    registered("figure-9.3", lambda quick: Outcome(figures=[line]))
    assert reproduce("figure-9.3", "-o", tmp_path).exit_code == 0
    assert {path.suffix for path in tmp_path.iterdir()} == {".md", ".json", ".svg"}
    kept = json.loads((tmp_path / "figure-9.3.json").read_text())["figures"][0]
    assert kept["curves"][0]["y"] == [3.0, 4.0]


def test_a_missing_corpus_is_reported_with_its_source_before_anything_runs(registered, tmp_path, monkeypatch):
    monkeypatch.setenv("STRUCTSVM_CORPORA", "")
    done = reproduce("table-9.1", "table-9.2", "--corpora", tmp_path, "-o", tmp_path / "out")
    assert done.exit_code == 1
    assert "'conll2000' was not found" in done.stderr
    assert CORPORA["conll2000"].source in done.stderr
    assert not (tmp_path / "out").exists()


def test_all_runs_what_it_can_and_tells_the_rest(registered, tmp_path, monkeypatch):
    monkeypatch.setenv("STRUCTSVM_CORPORA", str(tmp_path))

    def fails(quick):
        raise RuntimeError("no luck today")

    registered("table-9.0", fails)
    done = reproduce("--all", "-o", tmp_path / "out")
    assert done.exit_code == 1
    assert (tmp_path / "out/table-9.1.md").exists()
    assert "not reproduced: table-9.2, table-9.0" in done.stderr
    assert "no luck today" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(["table-6.11"], "did you mean table-6.1"), ([], "--list"), (["--all", "table-6.1"], "--list")],
)
def test_wrong_use_gets_one_sentence(arguments, told):
    done = reproduce(*arguments)
    assert done.exit_code == 2
    assert told in done.stderr


def test_a_job_is_measured_once_in_a_separate_process(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "benchmarks.harness.in_own_process", lambda module, job: asked.append(job) or {"n": len(asked)}
    )
    jobs = [{"seed": 0}, {"seed": 1}, {"seed": 0}]
    assert [run["n"] for run in measurements("a module of this test", jobs)] == [1, 2, 1]


@pytest.mark.parametrize("name", list(experiment.experiments()))
def test_every_experiment_measures_with_arguments_that_its_module_takes(name, monkeypatch):
    class Asked(Exception):
        pass

    def asked(module, job):
        inspect.signature(import_module(module).measure).bind(**job)
        raise Asked

    monkeypatch.setattr("benchmarks.harness._measured", {})
    monkeypatch.setattr("benchmarks.harness.in_own_process", asked)
    for quick in (True, False):
        with pytest.raises(Asked):
            experiment.experiments()[name].run(quick)


def test_a_run_that_is_interrupted_is_resumed(registered, tmp_path, monkeypatch):
    asked = []

    def run(quick):
        runs = measurements("another module of this test", [{"seed": 0}, {"seed": 1}])
        return Outcome([Row("LaRank", "F1", None, [run["n"] for run in runs])])

    def measured(module, job):
        asked.append(job["seed"])
        if asked == [0, 1]:
            raise KeyboardInterrupt
        return {"n": 1.0}

    monkeypatch.setattr("benchmarks.harness._measured", {})
    monkeypatch.setattr("benchmarks.harness.in_own_process", measured)
    registered("table-9.4", run)
    assert reproduce("table-9.4", "-o", tmp_path).exit_code == 130
    monkeypatch.setattr("benchmarks.harness._measured", {})
    assert reproduce("table-9.4", "-o", tmp_path, "--resume").exit_code == 0
    assert asked == [0, 1, 1]
    assert not (tmp_path / "measured.jsonl").exists()


@pytest.mark.parametrize("name", ["table-6.1"])
def test_a_simulated_experiment_runs(name, tmp_path, monkeypatch):
    """The real thing, in its own processes, from another folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("benchmarks.papers.ambiguous.LEVELS", (0,))
    done = reproduce(name, "--quick")
    assert done.exit_code == 0, done.stderr
    assert json.loads((tmp_path / f"reproduced/{name}-quick.json").read_text())["rows"]
