"""Load scipy.sparse when it is first needed: most programs never use it, and it takes a third of the
start."""

from __future__ import annotations

import sys
from typing import Any


class _Sparse:
    """Stands for the module."""

    def __getattr__(self, name: str) -> Any:
        from scipy import sparse

        return getattr(sparse, name)

    @staticmethod
    def issparse(x: Any) -> bool:
        """Whether x is a sparse matrix; before the module is loaded, there are no sparse matrices."""
        module = sys.modules.get("scipy.sparse")
        return module is not None and bool(module.issparse(x))


sparse: Any = _Sparse()
