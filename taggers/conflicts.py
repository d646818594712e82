"""The flags of commands that exclude or need each other, one table for each command.

`structsvm train` is not here: its flags are in the tables of `taggers.options`. A name with a space, such as
"a model", is not a flag: the command says what it is.
"""

from __future__ import annotations

from structsvm.options import GIVEN, option, rules
from taggers.formats import NAMES

MODEL, FILE, FORMAT = "a model", "a file", "a format"
ONE, LAYERS, BARE, PARSER = "of one layer", "of several layers", "of lemmas or trees", "of meanings"
LABELS, REPLACES, APPENDS = "of labels", "that replaces labels", "that appends labels"
OTHERS = ("trees", "svg", *(name for name in NAMES if name != "conllu"))  # formats but CoNLL-U

TAG = rules(
    nbest=option(flag="--nbest", default=1, needs={MODEL: (ONE,)}, excludes={"replace": GIVEN, "to": OTHERS}),
    scores=option(flag="--scores", needs={MODEL: (ONE, LAYERS)}),
    probabilities=option(
        flag="--probabilities", needs={MODEL: (ONE,)}, excludes={"scores": GIVEN, "nbest": GIVEN}
    ),
    replace=option(flag="--replace", needs={MODEL: (ONE,)}, excludes={"to": OTHERS}),
    label=option(
        flag="--column",
        needs={"replace": GIVEN, FORMAT: (REPLACES,)},
        excludes={MODEL: (LAYERS, BARE), "to": OTHERS},
    ),
    classes=option(flag="--classes", needs={MODEL: (ONE,)}),
    gazetteers=option(flag="--gazetteer", needs={MODEL: (ONE,)}),
    bias=option(flag="--bias", needs={MODEL: (ONE,)}),
    to=option(flag="--to"),
)
EVALUATE = rules(
    model=option(flag="MODEL"),
    label=option(flag="--column", needs={"model": GIVEN}, excludes={MODEL: (LAYERS,)}),
    strict=option(flag="--strict", excludes={MODEL: (LAYERS,)}),
    bias=option(flag="--bias", needs={"model": GIVEN}, excludes={MODEL: (LAYERS,)}),
    format=option(flag="--format"),
    raw=option(
        flag="--raw",
        needs={"model": GIVEN},
        excludes={"label": GIVEN, "strict": GIVEN, "bias": GIVEN, "format": OTHERS},
    ),
)
INSPECT = rules(
    names=option(flag="--names", needs={MODEL: (ONE,)}),
    html=option(flag="--html", needs={MODEL: (ONE,)}),
    test=option(flag="--test", needs={"html": GIVEN}),
)
CONVERT = rules(
    to=option(flag="--to", needs={FILE: (LABELS,)}),
    source=option(flag="--from", needs={FILE: (LABELS,)}, excludes={"to": ("conllu", *OTHERS)}),
    label=option(flag="--column", needs={FILE: (LABELS,)}),
    dtype=option(flag="--dtype", excludes={FILE: (LABELS,)}),
    prune=option(flag="--prune", excludes={FILE: (LABELS,)}),
    keep_names=option(flag="--keep-names", excludes={FILE: (LABELS,)}),
)
DISTIL = rules(
    gazetteers=option(flag="--gazetteer", needs={"task": ("ner", "chunk")}),
    phrases=option(flag="--phrases", needs={"gazetteers": GIVEN}),
    annotators=option(flag="--annotators"),
    columns=option(flag="--column", needs={"annotators": GIVEN}),
)
LAYERED = rules(
    layers=option(flag="--layers", needs={"task": ("ud",)}),
    search=option(flag="--search", needs={"task": ("ud", "parse")}),
)
TUNE = rules(budget=option(flag="--budget"), trials=option(flag="--trials", excludes={"budget": GIVEN}))
SERVE = rules(
    workers=option(flag="--workers", default=1),
    journal=option(flag="--journal", excludes={"workers": GIVEN}),
    output=option(flag="--output", needs={"journal": GIVEN}),
)
