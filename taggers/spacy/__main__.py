"""`python -m taggers.spacy pos|chunk|ner > config.cfg`: a config for `spacy train`, ready to use."""

from __future__ import annotations

import sys
from pathlib import Path

CONFIGS = Path(__file__).parent / "configs"


def config(name: str) -> str:
    """The text of the config of that name."""
    names = sorted(path.stem for path in CONFIGS.glob("*.cfg"))
    if name not in names:
        raise ValueError(f"there is no config {name!r}: give one of {', '.join(names)}")
    return (CONFIGS / f"{name}.cfg").read_text(encoding="utf-8")


def main() -> None:
    try:
        sys.stdout.write(config(sys.argv[1] if len(sys.argv) == 2 else ""))
    except ValueError as error:
        sys.exit(f"{__doc__}\n{error}")


if __name__ == "__main__":
    main()
