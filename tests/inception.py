"""Documents of INCEpTION for tests: a CAS in XMI, and a type system."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

SEGMENTATION = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type"
LAYER = "custom.Name"

TYPES = (
    '<typeSystemDescription xmlns="http://uima.apache.org/resourceSpecifier"><types><typeDescription>'
    f"<name>{LAYER}</name><supertypeName>uima.tcas.Annotation</supertypeName><features>%s"
    "</features></typeDescription></types></typeSystemDescription>"
) % "".join(
    f"<featureDescription><name>{name}</name></featureDescription>"
    for name in ("value", "inception_internal_predicted", "value_score")
)


def xmi(text: str, tokens: list[tuple[int, int]], sentences: list[tuple[int, int]], names: int = 0) -> str:
    """A document with annotations of the layer on its first token."""
    kinds = [("t:Token", place) for place in tokens] + [("t:Sentence", place) for place in sentences]
    kinds += [('c:Name value="PER"', (0, 4))] * names
    elements = [
        f'<{kind} xmi:id="{number}" sofa="1" begin="{start}" end="{end}"/>'
        for number, (kind, (start, end)) in enumerate(kinds, 2)
    ]
    members = " ".join(map(str, range(2, len(kinds) + 2)))
    return (
        '<?xml version="1.0" encoding="UTF-8"?><xmi:XMI xmlns:xmi="http://www.omg.org/XMI" '
        'xmlns:cas="http:///uima/cas.ecore" xmlns:c="http:///custom.ecore" '
        f'xmlns:t="http:///{SEGMENTATION.replace(".", "/")}.ecore" xmi:version="2.0">'
        f'<cas:Sofa xmi:id="1" sofaID="_InitialView" sofaString={quoteattr(text)}/>{"".join(elements)}'
        f'<cas:View sofa="1" members="{members}"/></xmi:XMI>'
    )
