"""Table C.2 of Bordes' thesis: concept labelling in a simulated house; measured by `benchmarks.concepts`."""

from __future__ import annotations

from benchmarks.concepts import FIRST, NETWORKS, READING, SVMS
from benchmarks.experiment import BORDES, Outcome, Row, experiment
from benchmarks.harness import measurements


@experiment(
    "table-C.2",
    "Concept labelling with world knowledge",
    source=BORDES,
    instead="the thesis' 50,000 simulated sentences by 10,000 of our own simulator.",
)
def table_c_2(quick: bool) -> Outcome:
    n_train, n_test, seeds = (1000, 300, 1) if quick else (10000, 2500, 10)
    rows = []
    for name, entry in (SVMS | NETWORKS).items():
        jobs = [
            {"names": [name], "seed": seed, "n_train": n_train, "n_test": n_test}
            for seed in range(FIRST, FIRST + seeds)
        ]
        errors = [run["rows"][name]["test"] for run in measurements("benchmarks.concepts", jobs)]
        rows.append(Row(name, "sentences with an error, %", entry[-1], errors))
    return Outcome(rows, notes=READING.strip())
