"""The commands of the command line as functions; `structsvm.cli` only parses their options."""

from taggers.commands.conversion import convert
from taggers.commands.evaluation import answered, evaluate
from taggers.commands.inspection import inspect
from taggers.commands.tagging import tag
from taggers.commands.training import train
from taggers.tagger import TASKS

__all__ = ["TASKS", "answered", "convert", "evaluate", "inspect", "tag", "train"]
