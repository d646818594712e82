"""Estimate the memory that a training needs, and warn or refuse before it is taken."""

from __future__ import annotations

import ctypes
import os
import warnings
from pathlib import Path

import numpy as np

from structsvm.files import DataError
from structsvm.problems.sequence import SequenceProblem, Sequences
from structsvm.training import user_level

LARGE = 2e9  # bytes: a smaller training causes no warning
MANY = 300  # labels: exact inference compares all pairs of them for each token
WRITTEN = 80  # bytes of the weights of a feature that training writes: about 1.2 blocks of eight
SUPPORT = 256  # bytes for each token that the support patterns of a dual take
LIMIT = Path("/sys/fs/cgroup/memory.max")  # of a container
_C_LIBRARY = ctypes.CDLL(None) if os.name == "posix" else None


class TrainingMemoryWarning(UserWarning):
    """A training needs much memory."""


class ManyLabelsWarning(UserWarning):
    """Warning about exact inference with many labels, which is slow."""


def release_memory() -> None:
    """Return freed memory to the operating system; the GNU C library keeps it otherwise."""
    trim = getattr(_C_LIBRARY, "malloc_trim", None)
    if trim is not None:
        trim(0)


def needed_memory(
    problem: SequenceProblem, n_features: int, X: Sequences, copies: int, shards: int = 1
) -> int:
    """About how many bytes a training takes at its peak; measured peaks were within a factor of 1.5.

    The weights take most of it. A perceptron holds `copies` doubles for each feature and label. If copies is
    0, every 16th feature of a shard has a double for each label. The other features have four bytes for each
    block, and the blocks that training writes; the support patterns take `SUPPORT` bytes for each token. The
    estimate also counts the loss of each pair of labels, the sentences (as given, and packed by the
    optimizer) and, for exact inference, the scores of the labels along the longest sentence.
    """
    features = problem.history + n_features
    weights = 8 * features * problem.stride * copies
    if not copies:
        weights = shards * features * (problem.stride + min(WRITTEN, 8 * problem.stride))
        weights += SUPPORT * X.n_tokens
    pairs = 20 * problem.n_labels * problem.stride
    longest = int(np.diff(X.sentence_ptr).max(initial=0)) if problem.inference == "exact" else 0
    sentences = (7 + 8 * (X.values is not None)) * len(X.rows) + 24 * X.n_tokens
    return weights + pairs + 24 * longest * problem.stride + sentences


def check_memory(
    problem: SequenceProblem, n_features: int, X: Sequences, copies: int, shards: int = 1
) -> bool:
    """Raise DataError for a training that exceeds the memory of the machine; warn of a large one.

    Returns whether it warned.
    """
    needed = needed_memory(problem, n_features, X, copies, shards)
    many = problem.inference == "exact" and problem.n_labels > MANY
    if many:
        warnings.warn(
            f"exact inference with {problem.n_labels:,} labels is slow, as it compares all pairs of them for "
            "each token; greedy inference is several times faster", ManyLabelsWarning,
            stacklevel=user_level(),
        )  # fmt: skip
    if needed < LARGE:
        return many
    rare = int(np.sum(np.bincount(X.rows, minlength=n_features) == 1))
    less = needed_memory(problem, n_features - rare, X, copies, shards)
    text = (
        f"training needs about {needed / 1e9:.1f} GB of memory for {n_features:,} features and "
        f"{problem.n_labels:,} labels{f' in {shards:,} shards' * (shards > 1)}; to reduce this, "
        f"{'use fewer shards, ' * (shards > 1)}drop rare features (a cutoff of 2 leaves "
        f"{less / 1e9:.1f} GB), use a smaller template, or use fewer labels"
    )
    room = machine_memory()
    if needed > room:
        raise DataError(f"{text}: this machine has {room / 1e9:.1f} GB")
    warnings.warn(text, TrainingMemoryWarning, stacklevel=user_level())
    return True


def machine_memory() -> float:
    """The bytes that a process can use: those of the machine, or of its container."""
    room = float("inf")
    if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        room = float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    limit = LIMIT.read_text().strip() if LIMIT.is_file() else "max"
    return min(room, float(limit)) if limit.isdigit() else room
