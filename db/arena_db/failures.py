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
    AwayError,
    DamagedError,
    DatabaseError,
    ForeignError,
    FullError,
    LockedError,
    RefusedError,
    StoppedError,
    UnsupportedError,
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
"""What Python raises where a row does not hold what the rules of the tables promise: a damaged page may hold
bytes in the place of a text, no number where there has to be one, a key that nobody has, or a length for
which SQLite asks for more memory than there is."""

_FULL: Final = "no space left on the disk for {path}; free some, then resume: nothing is half stored"
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


_AWAY: Final = "{path} cannot be reached ({text}); check that the server runs and accepts your login"
_STATES: Final[tuple[tuple[str, type[DatabaseError], str], ...]] = (
    # Beginnings of PostgreSQL's codes (https://www.postgresql.org/docs/current/errcodes-appendix.html).
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
    # The only function that a query may ask for in vain counts mistakes.
    (
        "42883",
        UnsupportedError,
        "conditions on grades need a store in a file, which {path} is not; arena db merge copies it to one",
    ),
    ("42501", AccessError, "{path} denies you access ({text}); GRANT permits it"),
    ("25006", AccessError, "{path} is read-only ({text})"),
)


def _explain_state(error: BaseException, place: object) -> DatabaseError | None:
    """Return the error of the store for one of PostgreSQL; None where a record breaks a rule."""
    text = " ".join(str(error).split())
    state = getattr(error, "sqlstate", None)
    if state is None:
        # So it comes from the client: it has no connection, or lost it.
        is_away = type(error).__name__ == "OperationalError"
        return AwayError(_AWAY.format(path=place, text=text)) if is_away else None
    for prefix, kind, message in _STATES:
        if state.startswith(prefix):
            return kind(message.format(path=place, text=text))
    return None


def explain(error: BaseException, place: object) -> DatabaseError:
    """Return the error of the store that says what `error`, raised by the database, means for a place."""
    name = str(getattr(error, "sqlite_errorname", ""))
    # A text that is no UTF-8: the driver cannot read it from a row, nor even from a message of SQLite.
    if isinstance(error, UnicodeDecodeError) or "Could not decode" in str(error):
        return DamagedError(_DAMAGED.format(path=place, text="a text cannot be decoded"))
    if hasattr(error, "sqlstate") and (found := _explain_state(error, place)) is not None:
        return found
    for prefix, kind, text in _KINDS:
        if name.startswith(prefix):
            return kind(text.format(path=place, text=error))
    return RefusedError(f"{place} refuses a record: {error}")


@contextmanager
def translated(place: object) -> Generator[None]:
    """Raise the errors of the store in place of those of the database and its driver.

    Raises:
        DatabaseError: the kind that fits.
    """
    try:
        yield
    except DBAPIError as error:
        raise explain(error.orig or error, place) from error
    except UnicodeDecodeError as error:
        raise explain(error, place) from error
    except (UnicodeEncodeError, OverflowError) as error:
        raise RefusedError(f"{place} refuses a record: {error}") from error
    except OSError as error:
        kind, text = (FullError, _FULL) if error.errno in _NO_ROOM else (AccessError, _ACCESS)
        raise kind(text.format(path=place, text=error)) from error


@contextmanager
def reading(place: object, driver_error: type[Exception]) -> Generator[None]:
    """Do as `translated` does for what only reads: rows that cannot be read are damaged, and not refused.

    Args:
        place: of the store.
        driver_error: the base of what the driver raises.

    Raises:
        DatabaseError: the kind that fits; a DamagedError for every row that is not as it was stored.
    """
    with translated(place):
        try:
            yield
        except (UnicodeEncodeError, OverflowError):
            # What was asked for cannot be stored, so it is not there.
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
