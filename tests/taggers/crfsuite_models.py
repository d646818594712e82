"""Write models as CRFsuite does, from labels, attributes and weights, to read them back."""

import struct


def crfsuite_model(labels, attributes, states, transitions, version=100, nested=False):
    """The bytes of a model: states and transitions map (source, label) to weights, by number.

    nested: forge the records of attributes, so that each reaches to the end of the last one.
    """
    features = [(0, *pair, weight) for pair, weight in states.items()]
    features += [(1, *pair, weight) for pair, weight in transitions.items()]
    parts, offsets, at = [], [], 48
    for part in (
        struct.pack("<4sII", b"FEAT", 12 + 20 * len(features), len(features))
        + b"".join(struct.pack("<IIId", *feature) for feature in features),
        _strings(labels),
        _strings(attributes, nested),
        struct.pack("<4sII", b"LFRF", 12, 0),
        struct.pack("<4sII", b"AFRF", 12, 0),
    ):
        parts.append(part)
        offsets.append(at)
        at += len(part)
    sizes = len(features), len(labels), len(attributes)
    return struct.pack("<4sI4sI8I", b"lCRF", at, b"FOMC", version, *sizes, *offsets) + b"".join(parts)


def _strings(names, nested=False):
    """A database of strings, without the hash tables that find a number by its string."""
    records, places, at = b"", [], 24 + 256 * 8
    for number, name in enumerate(names):
        name = name if isinstance(name, bytes) else name.encode()
        places.append(at + len(records))
        if nested:
            records += struct.pack("<iI", number, 8 * (len(names) - 1 - number) + 1)
            continue
        records += struct.pack("<iI", number, len(name) + 1) + name + b"\0"
    records += b"\0" * nested
    backward = at + len(records)
    size = backward + 4 * len(names)
    head = struct.pack("<4s5I", b"CQDB", size, 0, 0x62445371, len(names), backward)
    return head + bytes(256 * 8) + records + struct.pack(f"<{len(names)}I", *places)


SMALL = (
    ["N", "V"],
    ["w=dog", "w=barks", "cap", ""],
    {(0, 0): 1.5, (1, 1): 2.25, (2, 0): -0.5, (3, 1): 0.125},
    {(0, 1): 1.0, (1, 0): 0.75, (1, 1): -2.0},
)
