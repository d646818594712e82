"""Print a pip constraint for the lowest allowed version of each dependency: `python tests/oldest.py`."""

import re
import tomllib
from pathlib import Path


def lowest(settings: dict) -> list[str]:
    """Return `name==version` for each requirement of pyproject.toml with a lower bound."""
    project = settings["project"]
    needs = [*settings["build-system"]["requires"], *project["dependencies"]]
    needs += [need for extra in project["optional-dependencies"].values() for need in extra]
    bounds = (re.match(r"([\w.-]+)>=([\w.]+)", need) for need in needs)
    return sorted({f"{found[1]}=={found[2]}" for found in bounds if found})


if __name__ == "__main__":
    settings = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    print("\n".join(lowest(settings)))
