"""The features of arc-hybrid states, of labelled arcs and of parts of trees, as short texts.

A template is a list of cells joined by `+`; a cell is a number, such as a distance, or a place and some of
its attributes: `s0.wp+b0.p` is the word and the part of speech of s0 and the part of speech of b0. A digit
after `/` adds weights that depend on the distance of s0 and b0 (1) or of s1 and s0 (2).

Attributes: w the word in lower case without digits, s its last three characters, p UPOS, m UPOS with FEATS,
x UPOS with XPOS, l the lemma; for parts of trees also g, the label of the word's arc in the greedy tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

ATTRIBUTES = "wpmlxs"
GUESSED = "g"
# Numbers of states and places of words: s are elements of the stack, b of the buffer; l, l2 are the two
# leftmost children, r, r2 the two rightmost ones, and v counts children.
STATE_PLACES = (
    "s0", "s1", "s2", "b0", "b1", "b2", "b3", "s0l", "s0l2", "s0r", "s0r2", "s1l", "s1l2", "s1r", "s1r2",
    "b0l", "b0l2", "s0ll", "s0rr", "s1rr",
)  # fmt: skip
STATE_NUMBERS = ("d0", "d1", "s0vl", "s0vr", "s1vl", "s1vr", "b0vl", "stack")
# d is the word, h its head, g the head of h; p, n are the words before and after, pp the one before p;
# l, r the outermost children, l2, r2 the next ones; ps, ns the previous and the next child of h.
ARC_PLACES = (
    "d", "h", "g", "dp", "dn", "hp", "hn", "dl", "dr", "dl2", "dr2", "ps", "ns", "hl", "hr", "dpp",
)  # fmt: skip
ARC_NUMBERS = ("dist", "hlab", "pslab", "ps2lab", "nl", "nr", "side", "before", "after", "glab")
# Parts of trees: h is the head, d the word, s the sibling of d that is next to it on the way to h, g the head
# of h; p, n are the words before and after. `greedy` says whether the greedy tree has this arc, `puncts` and
# `verbs` count these words in between, up to 2; `side` is where s or g is.
GRAPH_PLACES = ("h", "d", "s", "g", "hp", "hn", "dp", "dn")
GRAPH_NUMBERS = ("greedy", "puncts", "verbs", "side")
MOST_TEMPLATES, MOST_CELLS = 128, 4  # as in the `.pyx` files

STATES = """
    s0.w/1 s0.p/1 s0.m/1 s0.l/1 s0.x/1 s0.wp b0.w/1 b0.p/1 b0.m/1 b0.l/1 b0.x/1 b0.wp s1.w/2 s1.p/2
    s1.m/2 s1.l/2 s1.x/2 b1.w b1.p b1.m b1.l b2.p b2.m b2.w b3.p s2.p s2.m s0.wp+b0.wp s0.wp+b0.p/1
    s0.p+b0.wp/1 s0.w+b0.w s0.l+b0.l s0.p+b0.p/1 s0.m+b0.m/1 s0.x+b0.x/1 s0.l+b0.p/1 s0.p+b0.l/1
    s0.m+b0.p s0.p+b0.m s1.wp+s0.wp s1.wp+s0.p/2 s1.p+s0.wp/2 s1.w+s0.w s1.l+s0.l s1.p+s0.p/2 s1.m+s0.m/2
    s1.x+s0.x/2 s1.l+s0.p/2 s1.p+s0.l/2 b0.p+b1.p b0.m+b1.m b0.w+b1.p b0.p+b1.w b0.l+b1.l
    s0.p+b0.p+b1.p/1 b0.p+b1.p+b2.p s1.p+s0.p+b0.p s2.p+s1.p+s0.p s1.m+s0.m+b0.m s0.m+b0.m+b1.m
    s0.w+b0.p+b1.p s0.p+b0.w+b1.p s0.p+b0.p+b1.w s1.w+s0.p+b0.p s1.p+s0.w+b0.p s1.p+s0.p+b0.w
    s0.p+s0l.p+b0.p s0.p+s0r.p+b0.p s0.p+b0.p+b0l.p s1.p+s1r.p+s0.p s1.p+s1l.p+s0.p s1.p+s0.p+s0l.p
    s1.p+s0.p+s0r.p s0.p+s0l.p+s0l2.p s0.p+s0r.p+s0r2.p b0.p+b0l.p+b0l2.p s1.p+s1r.p+s1r2.p s0l.p s0r.p
    b0l.p s1r.p s1l.p s0l.w s0r.w b0l.w s1r.w s0l.m s0r.m b0l.m s0.p+s0vl s0.p+s0vr s0.w+s0vl s0.w+s0vr
    s1.p+s1vr s1.w+s1vr b0.p+b0vl b0.w+b0vl s0.p+d0 b0.p+d0 s0.p+b0.p+d0 s0.w+d0 s1.p+s0.p+d1 s1.w+d1
    s0.p+b0.p+b1.p+b2.p stack
"""
ARCS = """
    d.w d.p d.m d.l d.x d.s h.w h.p h.m h.l h.x d.wp+h.wp d.wp+h.p d.p+h.wp d.w+h.w d.l+h.l d.p+h.p
    d.m+h.m d.x+h.x d.l+h.p d.p+h.l d.m+h.p d.p+h.m d.m+h.l d.m+h.w d.p+h.p+dist d.w+dist d.p+dist
    h.p+dist dist d.p+h.p+g.p d.m+h.p+hlab hlab+d.p hlab+d.w hlab+h.p+d.p dp.p+d.p+dn.p dp.p dn.p dp.w
    dn.w hp.p hn.p d.p+dp.w d.p+dn.w dpp.p+dp.p+d.p dl.p dl.w dl.m dr.p dr.w d.p+dl.p d.p+dr.p d.p+dl.w
    d.p+dl2.w d.p+dl.w+h.p d.p+dl.l+h.l dl2.p dl2.w d.p+dr.w d.p+dr2.w d.p+ps.p d.p+ns.p d.p+ps.w
    d.p+ns.w pslab pslab+d.p pslab+d.p+h.p pslab+d.m+h.p ps2lab+pslab+d.p d.p+h.p+hl.p d.p+h.p+hr.p
    d.m+h.p+ns.p d.p+nl+nr d.p+h.p+before+after d.w+before+after d.p+h.l+before+after d.m+h.l+pslab
"""
FIRST_ORDER = """
    h.w h.p h.m h.l d.w d.p d.m d.l h.wp+d.p h.p+d.wp h.w+d.w h.l+d.l h.p+d.p h.m+d.m h.x+d.x h.l+d.p
    h.p+d.l h.m+d.p h.p+d.m h.p+d.p+puncts+verbs h.l+puncts+verbs d.l+puncts+verbs
    hp.p+h.p+d.p+dn.p h.p+hn.p+dp.p+d.p hp.p+h.p+dp.p+d.p h.p+hn.p+d.p+dn.p h.p+dp.p+d.p h.p+d.p+dn.p
    hp.p+h.p+d.p h.p+hn.p+d.p hp.p+h.p+d.m h.m+hn.p+d.p h.p+d.m+dn.p h.p+dp.p+d.m
    greedy greedy+d.p greedy+h.p greedy+h.p+d.p greedy+h.l+d.p greedy+h.p+d.l greedy+d.g greedy+d.g+h.p
    greedy+d.g+h.g greedy+d.g+d.p greedy+d.g+h.l d.g+h.p+d.p h.g+d.g h.g+d.p+h.p d.g+h.l d.l+h.g
"""
SECOND_ORDER = """
    h.p+d.p+s.p h.m+d.m+s.m h.p+d.p+s.l h.p+d.l+s.p h.l+d.p+s.p d.p+s.p d.l+s.l d.l+s.p d.p+s.l d.m+s.m
    h.p+d.g+s.g d.g+s.g h.g+d.g+s.g h.l+d.g+s.g
    g.p+h.p+d.p+side g.m+h.m+d.m g.p+h.p+d.l g.l+h.p+d.p g.p+h.l+d.p g.p+d.p+side g.l+d.l g.l+d.p+side
    g.p+d.l+side g.m+d.m g.p+h.g+d.g g.p+h.p+d.g+side h.g+d.g+g.g g.p+h.g+d.p
"""
GRAPHS = {"greedy": "", "exact": FIRST_ORDER, "accurate": FIRST_ORDER + SECOND_ORDER}


class Templates(NamedTuple):
    """Templates as numbers: cells (place, attribute), or (-1, number), and the context of each template."""

    cells: list[list[tuple[int, int]]]
    contexts: list[int]


def parse_templates(
    text: str, places: Sequence[str], numbers: Sequence[str], known: str = ATTRIBUTES
) -> Templates:
    """Read templates; ValueError for unknown names and too many templates or cells. known: the attributes.

    >>> parse_templates("s0.wp+b0.p/1 d0", STATE_PLACES, STATE_NUMBERS)
    Templates(cells=[[(0, 0), (0, 1), (3, 1)], [(-1, 0)]], contexts=[1, 0])
    """
    found = Templates([], [])
    for item in text.split():
        name, _, context = item.partition("/")
        if context not in ("", "1", "2"):
            raise ValueError(f"the template {item!r} has an unknown context")
        cells = []
        for cell in name.split("+"):
            place, dot, attributes = cell.partition(".")
            if not dot and cell in numbers:
                cells.append((-1, numbers.index(cell)))
            elif place in places and attributes and {*attributes} <= {*known}:
                cells += [(places.index(place), known.index(one)) for one in attributes]
            else:
                raise ValueError(f"the template {item!r} has the unknown cell {cell!r}")
        if len(cells) > MOST_CELLS:
            raise ValueError(f"the template {item!r} has more than {MOST_CELLS} values")
        found.cells.append(cells)
        found.contexts.append(int(context or 0))
    if not 0 < len(found.cells) <= MOST_TEMPLATES:
        raise ValueError(f"{len(found.cells)} templates; at most {MOST_TEMPLATES} are possible")
    return found
