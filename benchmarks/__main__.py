"""Run benchmarks by name: `python -m benchmarks [multiclass ...] [--quick] [--corpora DIR]`."""

from __future__ import annotations

import argparse
import os
import sys

from benchmarks import ambiguity, concepts, multiclass, semparse, tagging
from corpora import CorpusMissing, find

BENCHMARKS = {
    "multiclass": multiclass.main,
    "tagging": tagging.main,
    "semparse": semparse.main,
    "ambiguity": ambiguity.main,
    "concepts": concepts.main,
}
NEEDED = {
    "multiclass": ("uci_letter", "usps", "mnist", "reuters_r8"),
    "tagging": ("conll2000",),
    "semparse": ("robocup",),
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
    try:
        for name in options.names or BENCHMARKS:
            for corpus in NEEDED.get(name, ()):
                find(corpus)
    except CorpusMissing as missing:
        sys.exit(str(missing))
    for name in options.names or BENCHMARKS:
        BENCHMARKS[name](quick=options.quick)


if __name__ == "__main__":
    main()
