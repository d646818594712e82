"""The commands of the command line as functions; `structsvm.cli` only parses their options."""

from taggers.commands.clustering import classes
from taggers.commands.conversion import check_conversion, convert, convert_model, foreign_program
from taggers.commands.evaluation import answered, compare_models, evaluate, evaluate_any
from taggers.commands.explaining import explain
from taggers.commands.inspection import inspect
from taggers.commands.pipelines import train_lemma, train_parse, train_ud
from taggers.commands.tagging import tag
from taggers.commands.training import train
from taggers.commands.treebanks import evaluate_ud
from taggers.commands.tuning import flags, tune
from taggers.tagger import TASKS

__all__ = [
    "TASKS", "answered", "check_conversion", "classes", "compare_models", "convert", "convert_model",
    "evaluate", "evaluate_any", "evaluate_ud", "explain", "flags", "foreign_program", "inspect", "tag",
    "train", "train_lemma", "train_parse", "train_ud", "tune",
]  # fmt: skip
