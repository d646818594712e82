"""Read XML from requests: without a DOCTYPE, so without entities, and only as UTF-8."""

from __future__ import annotations

import re
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from structsvm.integrations.starlette import Refused
from taggers.serve.limits import MOST_ATTRIBUTES, MOST_DEPTH, MOST_ELEMENTS

ATTRIBUTE = re.compile(r"""=\s*["']""")


def read_xml(text: str, what: str) -> Element:
    """The root of a document, or Refused; `what` begins the sentence of the error.

    The parser gets UTF-8 and takes it as such, whatever the document declares. It reports a DOCTYPE before it
    reads what is in it, which ends the reading. It never opens a file or an address.
    """
    for tag in text.split("<"):
        if tag.count("=") > MOST_ATTRIBUTES < sum(1 for _ in ATTRIBUTE.finditer(tag)):
            raise Refused(f"{what} has an element with more than {MOST_ATTRIBUTES} attributes", 413)
    builder, n_elements, depth = TreeBuilder(), 0, 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal n_elements, depth
        n_elements, depth = n_elements + 1, depth + 1
        if n_elements > MOST_ELEMENTS:
            raise Refused(f"{what} has more than {MOST_ELEMENTS} elements", 413)
        if depth > MOST_DEPTH:
            raise Refused(f"{what} has more than {MOST_DEPTH} elements within each other")
        builder.start(_name(tag), {_name(name): value for name, value in attributes.items()})

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(_name(tag))

    def declared(version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.upper() != "UTF-8":
            raise Refused(f"{what} declares the encoding {encoding[:40]!r}; only UTF-8 is allowed")

    def doctype(*names: Any) -> None:
        raise Refused(f"{what} has a DOCTYPE, which is not allowed")

    parser = expat.ParserCreate("utf-8", "}")
    parser.buffer_text = True
    parser.XmlDeclHandler = declared
    parser.StartDoctypeDeclHandler = doctype
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        raise Refused(f"{what} is not XML: {error}") from None
    return builder.close()


def _name(name: str) -> str:
    """A name with its namespace as ElementTree writes it."""
    return "{" + name if "}" in name else name
