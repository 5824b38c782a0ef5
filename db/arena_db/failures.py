"""Turns what the database library raises into the errors of the store."""

from __future__ import annotations

import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from sqlalchemy.exc import DBAPIError

from arena_db.errors import (
    AccessError,
    DamagedError,
    DatabaseError,
    ForeignError,
    FullError,
    LockedError,
    RefusedError,
)

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

_DAMAGED: Final = "{path} is damaged ({text}); `arena db check` tells more; put a backup in its place"
_ACCESS: Final = "{path} cannot be used ({text}); see its permissions and its disk, or give --db FILE"

_FULL: Final = "no room left on the disk for {path}; free some, then resume: nothing is half stored"
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

_KINDS: Final[tuple[tuple[str, type[DatabaseError], str], ...]] = (
    # Names of SQLite's result codes (https://www.sqlite.org/rescode.html); the first that fits counts.
    ("SQLITE_BUSY", LockedError, "{path} is locked by another process; stop that one or try again"),
    ("SQLITE_LOCKED", LockedError, "{path} is locked by another process; stop that one or try again"),
    ("SQLITE_FULL", FullError, _FULL),
    ("SQLITE_NOTADB", ForeignError, "{path} is not a store of arena; give another file by --db FILE"),
    ("SQLITE_CORRUPT", DamagedError, _DAMAGED),
    ("SQLITE_READONLY", AccessError, _ACCESS),
    ("SQLITE_CANTOPEN", AccessError, _ACCESS),
    ("SQLITE_PERM", AccessError, _ACCESS),
    ("SQLITE_IOERR", AccessError, _ACCESS),
)


def explain(error: BaseException, path: Path) -> DatabaseError:
    """Return the error of the store that says what `error`, raised by the database, means for `path`."""
    name = str(getattr(error, "sqlite_errorname", ""))
    for prefix, kind, text in _KINDS:
        if name.startswith(prefix):
            return kind(text.format(path=path, text=error))
    return RefusedError(f"{path} refuses a record: {error}")


@contextmanager
def translated(path: Path) -> Generator[None]:
    """Raise the errors of the store in place of those of the database and its driver.

    Raises:
        DatabaseError: the kind that fits.
    """
    try:
        yield
    except DBAPIError as error:
        raise explain(error.orig or error, path) from error
    except (UnicodeEncodeError, OverflowError) as error:
        raise RefusedError(f"{path} refuses a record: {error}") from error
    except OSError as error:
        kind, text = (FullError, _FULL) if error.errno in _NO_ROOM else (AccessError, _ACCESS)
        raise kind(text.format(path=path, text=error)) from error
