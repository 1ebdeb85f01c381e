"""Relational, ragged data as JAX pytrees: `Table`, `Index`, `Buffered`."""

from instar.core.data.buffered import Buffered, add_buffers, grow
from instar.core.data.index import Index
from instar.core.data.search import Selection
from instar.core.data.table import Table
from instar.core.data.vocabulary import Vocabulary

__all__ = ["Buffered", "Index", "Selection", "Table", "Vocabulary", "add_buffers", "grow"]
