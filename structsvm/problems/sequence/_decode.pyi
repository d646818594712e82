import numpy as np

from structsvm.files.sparse_weights import SparseRows
from structsvm.problems.sequence.candidates import Candidates
from structsvm.problems.sequence.problem import SequenceProblem, Sequences

class Decoder:
    n_labels: int
    stride: int
    order: int
    n_rows: int
    greedy: bool
    source: SparseRows | np.ndarray

    def __init__(
        self,
        problem: SequenceProblem,
        weights: np.ndarray | SparseRows,
        *,
        dense: bool = False,
        candidates: Candidates | None = None,
    ) -> None: ...
    def labels(
        self,
        X: Sequences,
        start: int = 0,
        stop: int | None = None,
        *,
        forced: np.ndarray | None = None,
        margins: np.ndarray | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray: ...
    def marginals(self, X: Sequences, temperature: float = 1.0) -> np.ndarray: ...
    def check(self, X: Sequences, forced: np.ndarray | None) -> None: ...
    def n_best(
        self, X: Sequences, sentence: int, n: int, *, forced: np.ndarray | None = None
    ) -> list[tuple[float, np.ndarray]]: ...
    def with_bigrams(self, transitions: np.ndarray, X: Sequences, token: int) -> np.ndarray: ...
    def feature_rows(self, rows: np.ndarray) -> np.ndarray: ...
    def lattice(self, X: Sequences, sentence: int, forced: np.ndarray | None = None) -> np.ndarray: ...
