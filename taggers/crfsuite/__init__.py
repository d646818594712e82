"""The interfaces of python-crfsuite and sklearn-crfsuite over structsvm's conditional random fields.

`import taggers.crfsuite as pycrfsuite` and `from taggers.crfsuite import CRF, metrics` replace the imports of
both packages. Models of CRFsuite can be opened; models that are trained here are files of structsvm.
"""

from taggers.crfsuite import metrics
from taggers.crfsuite.estimator import CRF
from taggers.crfsuite.items import ItemSequence
from taggers.crfsuite.tagger import ParsedDump, Tagger
from taggers.crfsuite.trainer import BaseTrainer, Trainer

CRFSUITE_VERSION = "0.12.2"  # the version whose parameters and models these classes know

__all__ = [
    "CRF",
    "CRFSUITE_VERSION",
    "BaseTrainer",
    "ItemSequence",
    "ParsedDump",
    "Tagger",
    "Trainer",
    "metrics",
]
