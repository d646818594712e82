"""scikit-learn's conventions without scikit-learn: constructor parameters, tags only when asked for."""

from __future__ import annotations

import inspect
import sys
from typing import Any, Self

from structsvm._optimizer import NotFittedError


class Estimator:
    """An estimator whose constructor stores its arguments unchanged, under their names."""

    @classmethod
    def _parameters(cls) -> list[str]:
        return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments."""
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **params: Any) -> Self:
        """Change constructor arguments."""
        for name, value in params.items():
            if name not in self._parameters():
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self!r}. "
                    f"Valid parameters are: {self._parameters()!r}."
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = {name: p.default for name, p in inspect.signature(type(self).__init__).parameters.items()}
        given = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != repr(defaults[name])
        ]
        return f"{type(self).__name__}({', '.join(given)})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def _not_fitted(self) -> Exception:
        """scikit-learn's own NotFittedError where it is in use, ours otherwise."""
        exceptions = sys.modules.get("sklearn.exceptions")
        kind = exceptions.NotFittedError if exceptions else NotFittedError
        return kind(f"This {type(self).__name__} instance is not fitted yet: call fit or partial_fit first.")
