"""Run benchmarks by name: `python -m benchmarks [peers ...] [--quick] [--corpora DIR]`."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module

from corpora import CorpusMissing, find

# the module whose `main` runs, and the corpora it needs
BENCHMARKS = {
    "peers": (
        "peers.bench",
        ("conll2000", "ud_english_ewt", "conll2002", "uci_letter", "usps", "reuters_r8"),
    ),
    "guard": ("guard", ("conll2000",)),
    "instructions": ("instructions", ("conll2000",)),
    "pages": ("pages", ()),
    "passes": ("passes", ("uci_letter", "usps", "reuters_r8")),
    "tagging": ("tagging", ("conll2000",)),
    "presets": ("presets", ("conll2000", "ud_english_ewt", "conll2002")),
    "bundle": ("bundle", ("ud_english_ewt",)),
    "spacy": ("spacy_pos", ("ud_english_ewt",)),
    "semparse": ("semparse", ("robocup",)),
    "matching": ("matching", ("robocup",)),
    "concepts": ("concepts", ()),
    "geoquery": ("geoquery", ("geoquery",)),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure structsvm beside other programs; for the papers' tables: structsvm reproduce.",
    )
    parser.add_argument("names", nargs="+", choices=list(BENCHMARKS), help="which ones")
    parser.add_argument("--quick", action="store_true", help="small sets and few repeats only")
    parser.add_argument("--record", action="store_true", help="of guard: write the reference anew")
    parser.add_argument(
        "--tasks", nargs="+", default=[], help="of peers: measure these anew, keep the others"
    )
    parser.add_argument("--corpora", help="where the corpora lie; $STRUCTSVM_CORPORA by default")
    options = parser.parse_args()
    if options.record and options.names != ["guard"]:
        parser.error("--record goes with guard alone")
    if options.tasks and options.names != ["peers"]:
        parser.error("--tasks goes with peers alone")
    if options.corpora:
        os.environ["STRUCTSVM_CORPORA"] = os.path.abspath(options.corpora)
    try:
        for corpus in dict.fromkeys(corpus for name in options.names for corpus in BENCHMARKS[name][1]):
            find(corpus)
    except CorpusMissing as missing:
        sys.exit(str(missing))
    for name in options.names:
        run = import_module(f"benchmarks.{BENCHMARKS[name][0]}").main
        more = {"record": options.record, "tasks": options.tasks}
        run(quick=options.quick, **{name: value for name, value in more.items() if value})


if __name__ == "__main__":
    main()
