"""Multiclass sets: `LaRankClassifier` against scikit-learn's SVC and LinearSVC, from file to saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

SETS: dict[str, dict[str, Any]] = {
    "letter": {"C": 10.0, "kernel": "rbf", "gamma": 0.025},
    "usps": {"C": 10.0, "kernel": "rbf", "gamma": 0.025},
    "r8": {"C": 1.0, "kernel": "linear"},
}
IMPORTS = (  # before the clock starts; `import structsvm` alone loads modules only when they are used
    "structsvm.classifier", "structsvm.classifier_file", "structsvm.problems._multiclass",
    "structsvm.files.persist", "sklearn.svm", "joblib", "corpora",
)  # fmt: skip
FACTORS = {"letter": 1, "usps": 0.623}


def write_arrays(name: str, folder: Path) -> None:
    """train.txt and test.txt as NumPy's archives, whatever their names say; texts as sparse TF-IDF."""
    from scipy import sparse

    import corpora

    if name == "r8":
        texts = corpora.load_r8()
        train, test = corpora.tfidf(texts.X_train, texts.X_test)
        for target, matrix, labels in (("train", train, texts.y_train), ("test", test, texts.y_test)):
            with (folder / f"{target}.txt").open("wb") as file:
                parts = sparse.csr_matrix(matrix)
                values = {"data": parts.data, "indices": parts.indices, "indptr": parts.indptr}
                np.savez(file, shape=parts.shape, y=labels, **values)
        return
    split = {"letter": corpora.load_letter, "usps": corpora.load_usps}[name]()
    factor = np.float32(FACTORS[name])
    for target, X, y in (("train", split.X_train, split.y_train), ("test", split.X_test, split.y_test)):
        with (folder / f"{target}.txt").open("wb") as file:
            np.savez(file, X=X * factor, y=y)


def arrays(path: Path) -> tuple[Any, np.ndarray]:
    with np.load(path) as archive:
        if "X" in archive:
            return archive["X"], archive["y"]
        from scipy import sparse

        parts = (archive["data"], archive["indices"], archive["indptr"])
        return sparse.csr_matrix(parts, shape=tuple(archive["shape"])), archive["y"]


def train(task: str, options: dict[str, Any], source: Path, model: Path) -> None:
    X, y = arrays(source)
    learner = build(options, SETS[task])
    learner.fit(X, y)
    if options["class"] == "LaRankClassifier":
        learner.save(model, training_state=False)  # enough to predict, like scikit-learn's files
        return
    import joblib

    joblib.dump(learner, model)


def build(options: dict[str, Any], settings: dict[str, Any]) -> Any:
    kind, more = options["class"], {key: value for key, value in options.items() if key != "class"}
    if kind == "LaRankClassifier":
        from structsvm import LaRankClassifier

        return LaRankClassifier(cache_size=2000, **settings, **more)
    from sklearn import svm

    if kind == "SVC":
        return svm.SVC(cache_size=2000, **settings, **more)
    return svm.LinearSVC(random_state=0, **more)


def load(model: Path) -> Any:
    from zipfile import is_zipfile

    if is_zipfile(model):
        from structsvm import LaRankClassifier

        return LaRankClassifier.load(model)
    import joblib

    return joblib.load(model)


def label(task: str, options: dict[str, Any], source: Path, model: Path, output: Path) -> None:
    learner = load(model)
    np.savetxt(output, learner.predict(arrays(source)[0]), fmt="%s")
