from collections.abc import Sequence

from taggers.formats._columns import Columns
from taggers.formats.base import Layer

def write(columns: Columns, layers: Sequence[Layer], *, misc: bool = False) -> bytes: ...
