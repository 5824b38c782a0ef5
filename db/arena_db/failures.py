"""Translates the exceptions of the database library into the errors of the store."""

from __future__ import annotations

import errno
import struct
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from sqlalchemy.exc import DBAPIError, MultipleResultsFound, NoResultFound

from arena_db.errors import (
    AccessError,
    AwayError,
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

_DAMAGED: Final = "{path} is damaged ({text}); `arena db check` shows more; put a backup in its place"
_ACCESS: Final = "{path} cannot be used ({text}); see its permissions and its disk, or give --db FILE"

_ODD_ROW: Final = (
    "{path} has a row that cannot be read ({text}); `arena db check` says whether the store is damaged, "
    "`arena db restore` puts a backup in its place"
)

ODD: Final = (
    *(ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError),
    *(struct.error, zlib.error, NoResultFound, MultipleResultsFound, MemoryError),
)
"""Python's exceptions for a row that breaks the rules of the tables. A damaged page may hold bytes in the
place of a string, a value that is not a number, an unknown key, or a length for which SQLite requests more
memory than there is."""

_FULL: Final = "no space left on the disk for {path}; free some, then resume: nothing is half stored"
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

_KINDS: Final[tuple[tuple[str, type[DatabaseError], str], ...]] = (
    # Names of SQLite's result codes (https://www.sqlite.org/rescode.html); the first matching prefix counts.
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


_AWAY: Final = "{path} cannot be reached ({text}); check that the server runs and accepts your login"
_STATES: Final[tuple[tuple[str, type[DatabaseError], str], ...]] = (
    # Prefixes of PostgreSQL's codes (https://www.postgresql.org/docs/current/errcodes-appendix.html).
    ("57014", StoppedError, "a query of {path} was interrupted"),
    ("55P03", LockedError, "{path} is locked by another process; stop that one or try again"),
    ("40", LockedError, "{path} was being written by another process, too; try again"),
    ("08", AwayError, _AWAY),
    ("57", AwayError, _AWAY),
    ("25P03", AwayError, _AWAY),
    ("53300", AwayError, _AWAY),
    ("53100", FullError, _FULL),
    ("53", AwayError, _AWAY),
    ("58", AccessError, "{path} cannot be used ({text}); see the log of the server"),
    ("XX", DamagedError, "{path} is damaged ({text}); see the log of the server"),
    ("42501", AccessError, "{path} denies you access ({text}); GRANT permits it"),
    ("25006", AccessError, "{path} is read-only ({text})"),
)


def _explain_state(error: BaseException, place: object) -> DatabaseError | None:
    """Return the error of the store for one of PostgreSQL; None if a record breaks a rule."""
    text = " ".join(str(error).split())
    state = getattr(error, "sqlstate", None)
    if state is None:
        # Without SQLSTATE the error comes from the client: there is no connection, or it was lost.
        is_away = any(kind.__name__ == "OperationalError" for kind in type(error).__mro__)
        return AwayError(_AWAY.format(path=place, text=text)) if is_away else None
    for prefix, kind, message in _STATES:
        if state.startswith(prefix):
            return kind(message.format(path=place, text=text))
    return None


def explain(error: BaseException, place: object) -> DatabaseError:
    """Return the error of the store that explains `error`, which the database raised, for a place."""
    name = str(getattr(error, "sqlite_errorname", ""))
    # A string that is not UTF-8: the driver cannot decode it, in a row or in a message of SQLite.
    if isinstance(error, UnicodeDecodeError) or "Could not decode" in str(error):
        return DamagedError(_DAMAGED.format(path=place, text="a text cannot be decoded"))
    if hasattr(error, "sqlstate") and (found := _explain_state(error, place)) is not None:
        return found
    for prefix, kind, text in _KINDS:
        if name.startswith(prefix):
            return kind(text.format(path=place, text=error))
    return RefusedError(f"{place} refuses a record: {error}")


@contextmanager
def translated(place: object, driver_error: type[Exception] = DBAPIError) -> Generator[None]:
    """Raise the errors of the store in place of those of the database and its driver.

    Args:
        place: the store.
        driver_error: base class of the driver's exceptions, where a block calls the driver itself.

    Raises:
        DatabaseError: the subclass that matches the exception.
    """
    try:
        yield
    except DBAPIError as error:
        raise explain(error.orig or error, place) from error
    except driver_error as error:
        raise explain(error, place) from error
    except UnicodeDecodeError as error:
        raise explain(error, place) from error
    except (UnicodeEncodeError, OverflowError) as error:
        raise RefusedError(f"{place} refuses a record: {error}") from error
    except OSError as error:
        kind, text = (FullError, _FULL) if error.errno in _NO_ROOM else (AccessError, _ACCESS)
        raise kind(text.format(path=place, text=error)) from error


@contextmanager
def reading(place: object, driver_error: type[Exception]) -> Generator[None]:
    """Translate as `translated` does, for code that only reads: an unreadable row is damaged, not refused.

    Args:
        place: the store.
        driver_error: base class of the driver's exceptions.

    Raises:
        DatabaseError: the subclass that matches the exception; DamagedError for a row that breaks the rules
            of its table.
    """
    with translated(place):
        try:
            yield
        except (UnicodeEncodeError, OverflowError):
            # The requested value cannot be stored, so it cannot be found either.
            raise
        except (DBAPIError, driver_error) as error:
            cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
            found = explain(cause, place)
            if isinstance(found, RefusedError):
                raise DamagedError(_ODD_ROW.format(path=place, text=cause)) from error
            raise found from error
        except ODD as error:
            text = f"{type(error).__name__}: {error}"
            raise DamagedError(_ODD_ROW.format(path=place, text=text)) from error
