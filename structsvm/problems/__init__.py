"""Built-in problems, one file a structure."""

from structsvm.problems.ambiguous import AmbiguousBags
from structsvm.problems.multiclass import Multiclass

__all__ = ["AmbiguousBags", "Multiclass"]
