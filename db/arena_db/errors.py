"""The errors of a store.

DatabaseError
├── MissingError          there is no store
├── UnsupportedError      a place that cannot hold a store
├── ForeignError          a file that is not a store
├── AlteredError          a store with tables, triggers or rules that are not arena's
├── NewerError            made by a newer version
├── OlderError            made by an older version, and opened read-only
├── DamagedError          its content contradicts itself
├── LockedError           another process holds its lock for too long
│   └── AwayError         the server cannot be reached, or ended the connection
├── FullError             the disk is full
├── AccessError           it cannot be read or written
├── LeaseLostError        another process has taken over the tournament
├── MovedError            the file of an open store was removed, moved or replaced
├── StoppedError          a query was interrupted; its answer is no longer wanted
├── TakenError            a name in use, or a target that exists
└── RefusedError          a record the store cannot hold
"""

from __future__ import annotations


class DatabaseError(Exception):
    """The base of all errors of the store; its text names the file and says what to do."""


class MissingError(DatabaseError):
    """There is no store at this place."""


class UnsupportedError(DatabaseError):
    """This place cannot hold a store: an unsupported server, a folder, an unsuitable file system."""


class ForeignError(DatabaseError):
    """The file is not a store; it is never written to."""


class AlteredError(DatabaseError):
    """The store contains a trigger, view or table that arena did not create, or altered table rules."""


class NewerError(DatabaseError):
    """The store was made by a newer version; it is never written to."""


class OlderError(DatabaseError):
    """The store was made by an older version, and a read-only connection may not upgrade it."""


class DamagedError(DatabaseError):
    """The content of the store contradicts itself."""


class LockedError(DatabaseError):
    """Another process kept the store locked for longer than the timeout."""


class AwayError(LockedError):
    """The server cannot be reached or ended the connection; it is unknown whether the transaction committed.

    All writes of a run are idempotent, so they are retried.
    """


class FullError(DatabaseError):
    """The disk is full; nothing of the transaction was kept."""


class AccessError(DatabaseError):
    """The operating system denies reading or writing here."""


class LeaseLostError(DatabaseError):
    """Another process has taken over the tournament; nothing of the transaction was kept."""


class MovedError(DatabaseError):
    """The file of an open store was removed, moved or replaced; later writes to it may be lost."""

    is_replaced = False
    """Whether another file has its name now."""


class StoppedError(DatabaseError):
    """A query was interrupted because its answer is no longer wanted."""


class TakenError(DatabaseError):
    """The name belongs to another tournament, or the backup file exists."""


class RefusedError(DatabaseError):
    """A record breaks a rule of the tables; nothing of its transaction was kept."""
