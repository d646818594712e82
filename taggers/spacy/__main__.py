"""`python -m taggers.spacy NAME > config.cfg`: print a config for `spacy train`.

NAME is pos, morph, lemma, senter, chunk or ner for one component, ud for parts of speech, features and
lemmas, parse for these and dependency trees, or all for sentence boundaries and ud. Then run
spacy train config.cfg --output model --paths.train train.conllu --paths.dev dev.conllu
"""

from __future__ import annotations

import sys
from pathlib import Path

from thinc.api import Config

CONFIGS = Path(__file__).parent / "configs"


def config(name: str) -> str:
    """Return the text of the config with this name."""
    names = sorted(path.stem for path in CONFIGS.glob("*.cfg") if path.stem != "base")
    if name not in names:
        raise ValueError(f"the config must be one of {', '.join(names)}, got {name!r}")
    base, own = [Config().from_disk(CONFIGS / f"{file}.cfg", interpolate=False) for file in ("base", name)]
    lines = (CONFIGS / f"{name}.cfg").read_text(encoding="utf-8").splitlines(keepends=True)
    comments = "".join(line for line in lines if line.startswith("#"))
    return f"{comments}{base.merge(own).to_str(interpolate=False)}\n"


def main() -> None:
    if sys.argv[1:] in (["--help"], ["-h"]):
        print(__doc__)
        return
    try:
        sys.stdout.write(config(sys.argv[1] if len(sys.argv) == 2 else ""))
    except ValueError as error:
        sys.exit(f"{__doc__}\n{error}")


if __name__ == "__main__":
    main()
