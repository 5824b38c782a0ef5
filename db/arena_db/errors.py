"""Everything that can be wrong with a store, and what to do about it.

DatabaseError
├── MissingError          there is no store
├── UnsupportedError      a place no store can be kept at
├── ForeignError          a file that is not a store
├── AlteredError          a store with tables, triggers or rules that are not arena's
├── NewerError            made by a newer version
├── OlderError            made by an older version, and only readable here
├── DamagedError          its content contradicts itself
├── LockedError           another process holds it for too long
│   └── AwayError         the server cannot be reached, or ended the connection
├── FullError             the disk is full
├── AccessError           it cannot be read or written
├── LeaseLostError        another process runs the tournament now
├── MovedError            the file of an open store was removed, moved or replaced
├── StoppedError          nobody wants the answer of a query any more
├── TakenError            a name that is taken, a target that exists
└── RefusedError          a record the store cannot hold
"""

from __future__ import annotations


class DatabaseError(Exception):
    """The base of all errors of the store; its text names the file and the way out."""


class MissingError(DatabaseError):
    """There is no store at this place."""


class UnsupportedError(DatabaseError):
    """No store can be kept at this place: a server that is not supported, a folder, an odd file system."""


class ForeignError(DatabaseError):
    """The file is not a store; it is never written."""


class AlteredError(DatabaseError):
    """The store holds a trigger, a view or a table that arena did not make, or a table with other rules."""


class NewerError(DatabaseError):
    """The store was made by a newer version; it is never written."""


class OlderError(DatabaseError):
    """The store was made by an older version and this reader may not change it."""


class DamagedError(DatabaseError):
    """The content of the store contradicts itself."""


class LockedError(DatabaseError):
    """Another process kept the store locked for longer than the wait."""


class AwayError(LockedError):
    """The server cannot be reached, or ended the connection; whether the transaction was kept is not known.

    All that a run writes may be written twice, so it is tried again.
    """


class FullError(DatabaseError):
    """The disk is full; nothing of the transaction was kept."""


class AccessError(DatabaseError):
    """The operating system lets nobody read or write it here."""


class LeaseLostError(DatabaseError):
    """Another process has taken over the tournament; nothing of the transaction was kept."""


class MovedError(DatabaseError):
    """The file of an open store was removed, moved or replaced; what is written to it may be gone."""

    is_replaced = False
    """Whether another file has its name now."""


class StoppedError(DatabaseError):
    """A query was interrupted, because nobody wants its answer any more."""


class TakenError(DatabaseError):
    """A name that another tournament has, or a backup that exists."""


class RefusedError(DatabaseError):
    """A record that breaks a rule of the tables; nothing of its transaction was kept."""
