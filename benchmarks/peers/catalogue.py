"""Which programs are measured on which tasks, with which settings, and how often."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

SEQUENCES = ("chunking", "pos", "ner")
CLASSES = ("letter", "usps", "r8")


@dataclass(frozen=True)
class Method:
    """A program with its settings, on some tasks; `package` is what pip installs for it (nothing: ours).

    options may differ by task.
    """

    name: str
    module: str
    package: str
    tasks: dict[str, dict[str, Any]] = field(default_factory=dict)
    template: str = "the same"

    @property
    def ours(self) -> bool:
        return self.name.startswith("structsvm")


def everywhere(tasks: tuple[str, ...], **options: Any) -> dict[str, dict[str, Any]]:
    return {task: dict(options) for task in tasks}


METHODS = [
    Method("structsvm greedy, 1 pass", "ours", "", everywhere(SEQUENCES, inference="greedy", epochs=1)),
    Method("crfsuite ap", "crfsuite", "python-crfsuite", {
        "chunking": {"algorithm": "ap", "max_iterations": 10},
        "pos": {"algorithm": "ap", "max_iterations": 10},
        "ner": {"algorithm": "ap", "max_iterations": 100},
    }),
    Method("structsvm exact, 2 passes", "ours", "", everywhere(SEQUENCES, inference="exact", epochs=2)),
    Method("crfsuite pa", "crfsuite", "python-crfsuite",
           everywhere(SEQUENCES, algorithm="pa", max_iterations=10)),
    Method("structsvm preset", "ours", "", everywhere(SEQUENCES, preset=True), template="the preset's"),
    Method("chaine ap", "chaine_crf", "chaine",
           everywhere(("chunking", "pos"), algorithm="ap", max_iterations=10)),
    Method("VW search", "vw_search", "vowpalwabbit",
           {"chunking": {"passes": 1}, "pos": {"passes": 5}, "ner": {"passes": 5}}),
    Method("NLTK PerceptronTagger", "nltk_tagger", "nltk", {"pos": {"passes": 5}}, template="its own"),
    Method("seqlearn perceptron", "seqlearn_perceptron", "seqlearn", {"chunking": {"passes": 10}}),
    Method("CRF++", "", "pycrfpp", {"chunking": {}}),
    Method("crfsuite lbfgs", "crfsuite", "python-crfsuite", {
        "chunking": {"algorithm": "lbfgs", "c1": 0.0, "c2": 1.0},
        "pos": {"algorithm": "lbfgs", "c1": 0.0, "c2": 1.0},
        "ner": {"algorithm": "lbfgs", "c1": 0.1, "c2": 0.1, "max_iterations": 100},
    }),
    Method("sklearn-crfsuite, defaults", "sklearn_crfsuite", "sklearn-crfsuite", everywhere(SEQUENCES)),
    Method("MITIE", "", "mitie", {"ner": {}}, template="its own"),
    Method("spaCy tagger, 4 epochs", "spacy_tagger", "spacy", {"pos": {"epochs": 4}}, template="its own"),
    Method("Wapiti l-bfgs", "wapiti_crf", "libwapiti", {"chunking": {"algo": "l-bfgs"}}),
    Method("UDPipe 1 tagger, 2 iterations", "udpipe", "ufal.udpipe", {"pos": {"passes": 2}},
           template="its own"),
    Method("structsvm LaRankClassifier, 1 pass", "classifiers", "",
           everywhere(CLASSES, epochs=1, **{"class": "LaRankClassifier"}), template=""),
    Method("scikit-learn SVC", "classifiers", "scikit-learn",
           everywhere(("letter", "usps"), **{"class": "SVC"}), template=""),
    Method("structsvm LaRankClassifier, gap < C", "classifiers", "",
           everywhere(CLASSES, tol="C", **{"class": "LaRankClassifier"}), template=""),
    Method("scikit-learn LinearSVC", "classifiers", "scikit-learn",
           everywhere(CLASSES, max_iter=2000, **{"class": "LinearSVC"}), template=""),
    Method("structsvm LaRankClassifier", "classifiers", "",
           everywhere(CLASSES, **{"class": "LaRankClassifier"}), template=""),
    Method("scikit-learn LinearSVC, Crammer-Singer", "classifiers", "scikit-learn",
           everywhere(("r8",), **{"class": "LinearSVC", "multi_class": "crammer_singer"}), template=""),
]  # fmt: skip
# What installs and still cannot be measured.
CANNOT = {
    "CRF++": "its package pycrfpp installs, but only labels: it cannot train",
    "MITIE": "training needs a file of word features, which its package neither has nor can create",
}
