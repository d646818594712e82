"""Run benchmarks by name: `python -m benchmarks [tagging ...] [--quick] [--corpora DIR]`."""

from __future__ import annotations

import argparse
import os
import sys

from benchmarks import (
    ambiguity,
    concepts,
    presets,
    semparse,
    spacy_pos,
    tagging,
)
from corpora import CorpusMissing, find

# what runs, and the corpora it needs
BENCHMARKS = {
    "tagging": (tagging.main, ("conll2000",)),
    "presets": (presets.main, ("conll2000", "ud_english_ewt", "conll2002")),
    "spacy": (spacy_pos.main, ("ud_english_ewt",)),
    "semparse": (semparse.main, ("robocup",)),
    "ambiguity": (ambiguity.main, ()),
    "concepts": (concepts.main, ()),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure structsvm against papers and peers."
    )
    parser.add_argument("names", nargs="*", choices=[[], *BENCHMARKS], help="which ones; all by default")
    parser.add_argument("--quick", action="store_true", help="small sets and few repeats only")
    parser.add_argument("--corpora", help="where the corpora lie; $STRUCTSVM_CORPORA by default")
    options = parser.parse_args()
    if options.corpora:
        os.environ["STRUCTSVM_CORPORA"] = os.path.abspath(options.corpora)
    names = options.names or list(BENCHMARKS)
    try:
        for corpus in dict.fromkeys(corpus for name in names for corpus in BENCHMARKS[name][1]):
            find(corpus)
    except CorpusMissing as missing:
        sys.exit(str(missing))
    for name in names:
        BENCHMARKS[name][0](quick=options.quick)


if __name__ == "__main__":
    main()
