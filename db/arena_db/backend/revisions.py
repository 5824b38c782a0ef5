"""The revision of the tables of a store, on any backend: refuses a later one, upgrades an older one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena_db.errors import DamagedError, NewerError, OlderError
from arena_db.models import REVISION, create

if TYPE_CHECKING:
    from sqlalchemy import Connection


def known(revision: str | None, place: object, restored: str) -> str:
    """Return the revision recorded in a store, if this version knows it.

    Args:
        revision: the recorded revision; None if there is none.
        place: where the store is.
        restored: how its backup is restored, for the message.

    Raises:
        DamagedError: no revision is recorded.
        NewerError: a newer version made it.
    """
    if revision is None:
        raise DamagedError(f"{place} is damaged (it has no revision); {restored}")
    if revision != REVISION:
        # Imported here: importing Alembic takes longer than opening a store.
        from arena_db.migrate import known_revisions

        if revision not in known_revisions():
            raise NewerError(
                f"{place} was made by a newer version of arena; upgrade arena: pip install -U bot-arena"
            )
    return revision


def older(place: object, before: str = "") -> OlderError:
    """Return the error for a store that a reader may not upgrade.

    Args:
        place: where the store is.
        before: text about what the operator should do before the upgrade; may be empty.
    """
    then = before and f", {before}"
    return OlderError(f"{place} was made by an older version; `arena db upgrade` brings it up to date{then}")


def bring_up_to_date(connection: Connection, revision: str | None) -> None:
    """Create the tables, or upgrade them, in the transaction of a writer.

    Args:
        connection: with the exclusive write lock.
        revision: revision of the tables, read in this transaction, as another process may have upgraded them
            since; None if there are none.

    Raises:
        DamagedError: rows would be lost.
    """
    if revision is None:
        create(connection)
    elif revision != REVISION:
        from arena_db.migrate import upgrade

        upgrade(connection)
