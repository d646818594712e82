"""Run benchmarks by name: `python -m benchmarks NAME ... [--quick] [--corpora DIR]`.

`python -m benchmarks reproduce` has its own options: see its `--help`. `python -m benchmarks
crfsuite-models FILE ...` compares models of CRFsuite in both programs.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module

from benchmarks.harness import RESULTS, drop_measurements, keep_measurements
from corpora import CorpusMissing, find

# name: the module whose `main` runs, and the corpora it needs
BENCHMARKS = {
    "peers": (
        "peers.bench",
        ("conll2000", "ud_english_ewt", "conll2002", "uci_letter", "usps", "reuters_r8"),
    ),
    "guard": ("guard", ("conll2000",)),
    "crf": ("crf", ("conll2000", "conll2002", "ud_english_ewt", "usaddress")),
    "instructions": ("instructions", ("conll2000",)),
    "pages": ("pages", ()),
    "default-epochs": ("default_epochs", ("uci_letter", "usps", "reuters_r8", "trec_questions")),
    "kernel-choice": ("kernel_choice", ("uci_letter",)),
    "picture": ("picture", ()),
    "tagging": ("tagging", ("conll2000",)),
    "presets": ("presets", ("conll2000", "ud_english_ewt", "conll2002")),
    "reach": (
        "reach",
        (
            "conll2002",
            "uner_croatian",
            "uner_danish",
            "uner_portuguese",
            "bc5cdr",
            "btc",
            "slots",
            "conll2000",
            "ud_english_ewt",
            "raw_english",
        ),
    ),
    "held-out": (
        "held_out",
        ("uner_danish", "btc", "bc5cdr", "conll2000", "ud_afrikaans", "ud_french_sequoia"),
    ),
    "tune": (
        "tune",
        (
            "uner_danish",
            "uner_croatian",
            "uner_portuguese",
            "btc",
            "bc5cdr",
            "slots",
            "conll2000",
            "ud_french_sequoia",
        ),
    ),
    "noise": ("noise", ("uner_danish", "btc", "bc5cdr")),
    "unseen": (
        "unseen",
        ("conll2002", "uner_croatian", "uner_danish", "uner_portuguese", "bc5cdr", "btc"),
    ),
    "knowledge": ("knowledge", ("conll2002",)),
    "bundle": ("bundle", ("ud_english_ewt",)),
    "ud": ("ud", ("ud_english_ewt", "ud_greek", "ud_afrikaans", "ud_french_sequoia")),
    "ud-trees": ("ud_trees", ("ud_english_ewt", "ud_greek", "ud_afrikaans", "ud_french_sequoia")),
    "ud-labels": ("ud_labels", ("ud_greek", "ud_french_sequoia")),
    "ud-text": ("ud_text", ("ud_english_ewt", "ud_greek", "ud_afrikaans", "ud_french_sequoia")),
    "bundle-ner": ("bundle_ner", ("uner_english", "wikigold", "btc")),
    "weak": (
        "weak",
        ("bc5cdr", "autoner_bc5cdr", "wikigold_distant", "conll2002", "ud_english_ewt"),
    ),
    "bundle-ud": ("bundle_ud", ("ud_english_ewt", "ud_afrikaans")),
    "spacy": ("spacy_pos", ("ud_english_ewt",)),
    "semparse": ("semparse", ("robocup",)),
    "comments": ("comments", ("robocup",)),
    "matching": ("matching", ("robocup",)),
    "concepts": ("concepts", ()),
    "geoquery": ("geoquery", ("geoquery", "geoquery_facts")),
    "clang": ("clang", ("clang",)),
    "home": ("home", ()),
    "small-data": (
        "small_data",
        (
            "conll2002",
            "uner_danish",
            "wikigold",
            "btc",
            "bc5cdr",
            "slots",
            "conll2000",
            "ud_english_ewt",
        ),
    ),
    "jobs": ("jobs", ("jobs",)),
    "slots": ("slots", ("slots",)),
    "sail": ("sail", ("sail",)),
    "streams": ("streams", ()),
    "wheels": ("wheels", ("conll2000",)),
    "memory": ("memory", ()),
    "solvers": ("solvers", ("conll2000", "ud_english_ewt", "ocr_letters")),
    "parallel": ("parallel", ("conll2000",)),
    "scaling": ("scaling", ("conll2000",)),
    "serve": ("serve", ("ud_english_ewt",)),
    "teach": ("teach", ("conll2002", "bc5cdr", "ud_english_ewt")),
    "teach-page": ("teach_page", ("bc5cdr",)),
    "teach-bounds": ("teach_bounds", ("conll2002",)),
}

WITH_TASKS = (
    "crf", "solvers", "peers", "presets", "reach", "small-data", "held-out", "unseen", "weak", "ud-trees",
)  # fmt: skip
WHOLE = ("crf", "guard", "pages", "picture")  # those without a quick run


def main() -> None:
    if sys.argv[1:2] == ["reproduce"]:
        from benchmarks.cli import app

        app(sys.argv[2:], prog_name="python -m benchmarks reproduce")
    if sys.argv[1:2] == ["crfsuite-models"]:
        from benchmarks.crfsuite_models import main as compare

        return compare(sys.argv[2:])
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Compare structsvm with other programs. Papers: python -m benchmarks reproduce --list.",
    )
    parser.add_argument("names", nargs="+", choices=list(BENCHMARKS), help="the benchmarks to run")
    parser.add_argument("--quick", action="store_true", help="use small data sets and few repeats")
    parser.add_argument("--record", action="store_true", help="guard only: replace the reference")
    parser.add_argument(
        "--tasks",
        nargs="+",
        default=[],
        help="crf, solvers, peers, presets, reach, small-data, weak: measure these tasks, keep the "
        "other results; held-out, unseen: measure these corpora; ud-trees: these programs",
    )
    parser.add_argument(
        "--resume", action="store_true", help="continue an interrupted run; finished measurements are reused"
    )
    parser.add_argument("--corpora", help="folder of the corpora; default: $STRUCTSVM_CORPORA")
    options = parser.parse_args()
    if options.record and options.names != ["guard"]:
        parser.error("--record needs guard and no other benchmark")
    if options.quick and (whole := [name for name in options.names if name in WHOLE]):
        parser.error(f"--quick has no effect on {', '.join(whole)}; leave it out")
    if options.tasks and options.names not in ([name] for name in WITH_TASKS):
        parser.error(f"--tasks needs one of {', '.join(WITH_TASKS)}, and no other benchmark")
    if options.corpora:
        os.environ["STRUCTSVM_CORPORA"] = os.path.abspath(options.corpora)
    try:
        for corpus in dict.fromkeys(corpus for name in options.names for corpus in BENCHMARKS[name][1]):
            find(corpus)
    except CorpusMissing as missing:
        sys.exit(str(missing))
    keep_measurements(RESULTS.parent / "measured.jsonl", resume=options.resume)
    for name in options.names:
        run = import_module(f"benchmarks.{BENCHMARKS[name][0]}").main
        more = {"quick": options.quick, "record": options.record, "tasks": options.tasks}
        run(**{name: value for name, value in more.items() if value})
    drop_measurements()


if __name__ == "__main__":
    main()
