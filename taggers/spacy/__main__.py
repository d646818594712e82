"""`python -m taggers.spacy pos|ud|chunk|ner > config.cfg`: print a config for `spacy train`."""

from __future__ import annotations

import sys
from pathlib import Path

CONFIGS = Path(__file__).parent / "configs"


def config(name: str) -> str:
    """Return the text of the config with this name."""
    names = sorted(path.stem for path in CONFIGS.glob("*.cfg"))
    if name not in names:
        raise ValueError(f"the config must be one of {', '.join(names)}, got {name!r}")
    return (CONFIGS / f"{name}.cfg").read_text(encoding="utf-8")


def main() -> None:
    try:
        sys.stdout.write(config(sys.argv[1] if len(sys.argv) == 2 else ""))
    except ValueError as error:
        sys.exit(f"{__doc__}\n{error}")


if __name__ == "__main__":
    main()
