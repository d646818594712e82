"""Multiclass sets: `LaRankClassifier` beside scikit-learn's SVC and LinearSVC, from file to saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

SETS: dict[str, dict[str, Any]] = {"letter": {"C": 10.0, "gamma": 0.025}, "usps": {"C": 10.0, "gamma": 0.025}}
IMPORTS = ("structsvm", "sklearn.svm", "joblib", "corpora")  # before the clock starts
FACTORS = {"letter": 1, "usps": 0.623}


def write_arrays(name: str, folder: Path) -> None:
    """train.txt and test.txt as NumPy's archives, whatever their names say."""
    import corpora

    split = {"letter": corpora.load_letter, "usps": corpora.load_usps}[name]()
    factor = np.float32(FACTORS[name])
    for target, X, y in (("train", split.X_train, split.y_train), ("test", split.X_test, split.y_test)):
        with (folder / f"{target}.txt").open("wb") as file:
            np.savez(file, X=X * factor, y=y)


def arrays(path: Path) -> tuple[np.ndarray, np.ndarray]:
    with np.load(path) as archive:
        return archive["X"], archive["y"]


def train(task: str, options: dict[str, Any], source: Path, model: Path) -> None:
    X, y = arrays(source)
    learner = build(options, SETS[task])
    learner.fit(X, y)
    if options["class"] == "LaRankClassifier":
        learner.save(model)
        return
    import joblib

    joblib.dump(learner, model)


def build(options: dict[str, Any], settings: dict[str, Any]) -> Any:
    kind, more = options["class"], {key: value for key, value in options.items() if key != "class"}
    if kind == "LaRankClassifier":
        from structsvm import LaRankClassifier

        return LaRankClassifier(kernel="rbf", cache_size=2000, **settings, **more)
    from sklearn import svm

    if kind == "SVC":
        return svm.SVC(kernel="rbf", cache_size=2000, **settings, **more)
    return svm.LinearSVC(**more)


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
