"""Turns what the database library raises into the errors of the store."""

from __future__ import annotations

import errno
import struct
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from sqlalchemy.exc import DBAPIError, MultipleResultsFound, NoResultFound

from arena_db.errors import (
    AccessError,
    DamagedError,
    DatabaseError,
    ForeignError,
    FullError,
    LockedError,
    RefusedError,
    StoppedError,
)

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

_DAMAGED: Final = "{path} is damaged ({text}); `arena db check` tells more; put a backup in its place"
_ACCESS: Final = "{path} cannot be used ({text}); see its permissions and its disk, or give --db FILE"

_ODD_ROW: Final = (
    "{path} has a row that cannot be read ({text}); `arena db check` says whether the store is damaged, "
    "`arena db restore` puts a backup in its place"
)

ODD: Final = (
    *(ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError),
    *(struct.error, zlib.error, NoResultFound, MultipleResultsFound, MemoryError),
)
"""What Python raises where a row does not hold what the rules of the tables promise: a damaged page may hold
bytes in the place of a text, no number where there has to be one, a key that nobody has, or a length for
which SQLite asks for more memory than there is."""

_FULL: Final = "no room left on the disk for {path}; free some, then resume: nothing is half stored"
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

_KINDS: Final[tuple[tuple[str, type[DatabaseError], str], ...]] = (
    # Names of SQLite's result codes (https://www.sqlite.org/rescode.html); the first that fits counts.
    ("SQLITE_BUSY", LockedError, "{path} is locked by another process; stop that one or try again"),
    ("SQLITE_LOCKED", LockedError, "{path} is locked by another process; stop that one or try again"),
    ("SQLITE_INTERRUPT", StoppedError, "a query of {path} was interrupted"),
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
    # A text that is no UTF-8: the driver cannot read it from a row, nor even from a message of SQLite.
    if isinstance(error, UnicodeDecodeError) or "Could not decode" in str(error):
        return DamagedError(_DAMAGED.format(path=path, text="a text cannot be decoded"))
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
    except UnicodeDecodeError as error:
        raise explain(error, path) from error
    except (UnicodeEncodeError, OverflowError) as error:
        raise RefusedError(f"{path} refuses a record: {error}") from error
    except OSError as error:
        kind, text = (FullError, _FULL) if error.errno in _NO_ROOM else (AccessError, _ACCESS)
        raise kind(text.format(path=path, text=error)) from error


@contextmanager
def reading(path: Path, driver_error: type[Exception]) -> Generator[None]:
    """Do as `translated` does for what only reads: rows that cannot be read are damaged, and not refused.

    Args:
        path: of the store.
        driver_error: the base of what the driver raises.

    Raises:
        DatabaseError: the kind that fits; a DamagedError for every row that is not as it was stored.
    """
    with translated(path):
        try:
            yield
        except (UnicodeEncodeError, OverflowError):
            # What was asked for cannot be stored, so it is not there.
            raise
        except (DBAPIError, driver_error) as error:
            cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
            found = explain(cause, path)
            if isinstance(found, RefusedError):
                raise DamagedError(_ODD_ROW.format(path=path, text=cause)) from error
            raise found from error
        except ODD as error:
            text = f"{type(error).__name__}: {error}"
            raise DamagedError(_ODD_ROW.format(path=path, text=text)) from error
