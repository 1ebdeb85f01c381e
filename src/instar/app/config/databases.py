"""Structures from databases of ASE (SQLite), which may come from anywhere.

A database can be more than data: views and generated columns are programs, which may never end or
make something huge of nothing, and ASE puts names that it finds there into its own queries. So ASE
gets a connection that only reads tables, calls no function but ``count``, and counts its steps.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ase import Atoms

from instar.app.config.structure_files import (
    StructureFileError,
    check_size,
    first_line,
    honest_arrays,
)

__all__ = ["read_database"]

_MOST_ROWS = 100_000
"""About ten seconds of reading."""

_MOST_STEPS = 200_000_000
"""Of SQLite's virtual machine: a row takes some hundreds."""

_STEPS_AT_ONCE = 1_000_000
_LONGEST = 2**27
"""Bytes of a text or an array."""

_COLUMNS = [
    "id",
    "numbers",
    "positions",
    "cell",
    "pbc",
    "initial_magmoms",
    "initial_charges",
    "masses",
    "tags",
    "momenta",
    "constraints",
]
"""What is read: not the parameters of calculators, and notes."""

_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_TRANSACTION}


def read_database(path: Path) -> list[Atoms]:
    """All structures of a database, in the order of their rows."""
    check_size(path)
    try:
        return _rows(path)
    except StructureFileError:
        raise
    except Exception as error:  # what is no database raises anything
        raise StructureFileError(f"{path} can't be read: {first_line(error)}") from error


def _rows(path: Path) -> list[Atoms]:
    import ase.db

    with contextlib.closing(_guarded(path)) as connection:
        _check(path, connection)
    database: Any = ase.db.connect(str(path.absolute()), type="db", use_lock_file=False)
    database._connect = lambda: _guarded(path)
    with _closed(database), honest_arrays():
        rows = database.select(columns=_COLUMNS, include_data=False)
        return [row.toatoms() for row in rows]


@contextlib.contextmanager
def _closed(database: Any) -> Iterator[None]:
    """With one connection for all rows."""
    with database:
        connection = database.connection
        yield
    connection.close()


def _guarded(path: Path) -> sqlite3.Connection:
    """A connection that reads tables, and nothing for ever."""
    opened = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    opened.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
    opened.set_authorizer(_allowed)
    left = iter(range(_MOST_STEPS // _STEPS_AT_ONCE))
    opened.set_progress_handler(lambda: next(left, None) is None, _STEPS_AT_ONCE)
    return opened


def _allowed(action: int, _: Any, name: Any, *__: Any) -> int:
    counts = action == sqlite3.SQLITE_FUNCTION and str(name).lower() == "count"
    return sqlite3.SQLITE_OK if counts or action in _READING else sqlite3.SQLITE_DENY


def _check(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse a database of something else, and one with more than can be read."""
    query = "SELECT name FROM sqlite_master WHERE name = 'systems' AND type = 'table'"
    if connection.execute(query).fetchone() is None:
        raise StructureFileError(f"{path} is not a database of structures as ASE writes them")
    (rows,) = connection.execute("SELECT count(*) FROM systems").fetchone()
    if rows > _MOST_ROWS:
        raise StructureFileError(f"{path} has {rows} structures; at most {_MOST_ROWS} are read")
