"""Model files, and atomic writing for all files: a file is written completely or not at all."""

from structsvm.files.atomic import atomic_write, check_output
from structsvm.files.budget import check_budget, padding
from structsvm.files.errors import DataError
from structsvm.files.inputs import file_name, open_input
from structsvm.files.persist import ModelFileError, consistent, load_model, save_model
from structsvm.files.quantise import DTYPES, dequantise, quantise
from structsvm.files.sparse_weights import SparseRows, shared_bytes

__all__ = [
    "DTYPES", "DataError", "ModelFileError", "SparseRows", "atomic_write", "check_budget", "check_output",
    "consistent", "dequantise", "file_name", "load_model", "open_input", "padding", "quantise",
    "save_model", "shared_bytes",
]  # fmt: skip
