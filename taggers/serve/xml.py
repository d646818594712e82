"""Check XML from requests before a parser reads it."""

from __future__ import annotations

import re

from structsvm.integrations.starlette import Refused

DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")


def safe_xml(text: str, what: str) -> str:
    """The text without its XML declaration, which could name an encoding; entities and DTDs are refused.

    Entities can make a small text enormous, or name files.
    """
    text = DECLARATION.sub("", text, count=1)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise Refused(f"{what} has a DOCTYPE, which is not allowed")
    return text
