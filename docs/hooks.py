"""Bring files from outside docs/ into the site: results of benchmarks and the cards of the bundled models.

Pages link to them by their paths in the repository, which work where the sources are browsed; the links are
rewritten to their places in the site.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
CARDS = "taggers/models"
RESULTS = "benchmarks/results"
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")


def place(path: str) -> str:
    """The place in the site of a file outside docs/, given by its path in the repository."""
    if path.startswith(f"{CARDS}/"):
        return f"reference/{posixpath.basename(path)}"
    return path if path.startswith(f"{RESULTS}/") else path.removeprefix("docs/")


def source(uri: str) -> str:
    """The path in the repository of a page of the site."""
    card = f"{CARDS}/{posixpath.basename(uri)}"
    if uri.startswith("reference/") and (ROOT / card).is_file():
        return card
    return uri if uri.startswith(f"{RESULTS}/") else f"docs/{uri}"


def on_files(files: Any, config: Any) -> Any:
    """Add the cards and the results, each under its place in the site."""
    patterns = ((CARDS, "*.md"), (RESULTS, "*.md"), (RESULTS, "*.svg"))
    outside = [path for folder, names in patterns for path in sorted((ROOT / folder).glob(names))]
    for path in outside:
        uri = place(path.relative_to(ROOT).as_posix())
        files.append(File.generated(config, uri, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Rewrite relative links from paths in the repository to places in the site."""
    folder = posixpath.dirname(source(page.file.src_uri))
    here = posixpath.dirname(page.file.src_uri)

    def rewritten(found: re.Match[str]) -> str:
        target = found[1]
        if "://" in target or target.startswith("mailto:"):
            return found[0]
        path = posixpath.normpath(posixpath.join(folder, target))
        return f"]({posixpath.relpath(place(path), here or '.')}{found[2] or ''})"

    return LINK.sub(rewritten, markdown)
