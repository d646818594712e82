"""Packages of the peers, each in a folder of its own inside the environment, so that they cannot conflict.

One that does not install is no reason to stop: why is written down, and stands in the table.
"""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path

from benchmarks.peers.catalogue import METHODS

FOLDER = Path(sys.prefix) / "peers"
# Those that the `bench` extra brings: spaCy and scikit-learn are what our adapters need too.
SHARED = ("python-crfsuite", "spacy", "scikit-learn")
OTHERS = sorted({method.package for method in METHODS} - {"", *SHARED})


def install(package: str) -> dict[str, str]:
    """Install a package, unless that has been tried; its version, or why it failed."""
    note = FOLDER / f"{package}.json"
    if note.exists():
        return json.loads(note.read_text(encoding="utf-8"))
    FOLDER.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
         "--target", str(FOLDER / package), package],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        # pip ends with a hint; what went wrong is in the last line that names an error.
        lines = [line.strip() for line in done.stderr.splitlines() if "error" in line.lower()]
        told = [line for line in lines if not line.startswith(("note:", "error: subprocess"))]
        found = {"failed": (told or ["pip failed"])[-1][:160]}
    else:
        found = {"version": version(package)}
    note.write_text(json.dumps(found) + "\n", encoding="utf-8")
    return found


def version(package: str) -> str:
    if package in SHARED:
        return importlib.metadata.version(package)
    (found,) = importlib.metadata.distributions(name=package, path=[str(FOLDER / package)])
    return found.version


def installed(package: str) -> dict[str, str]:
    """The version of a package, or why there is none."""
    if package == "":
        return {"version": importlib.metadata.version("structsvm-nlp")}
    if package in SHARED:
        try:
            return {"version": version(package)}
        except importlib.metadata.PackageNotFoundError:
            return {"failed": "not installed: make bench does it"}
    note = FOLDER / f"{package}.json"
    if not note.exists():
        return {"failed": "not installed: python -m benchmarks.peers.install"}
    return json.loads(note.read_text(encoding="utf-8"))


def main() -> None:
    for package in OTHERS:
        found = install(package)
        print(f"{package} {found.get('version') or 'does not install: ' + found['failed']}")


if __name__ == "__main__":
    main()
