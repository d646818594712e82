"""What is said when the data, not the program, is wrong: the class is shared with the other packages."""

from corpora.errors import DataError

__all__ = ["DataError"]
