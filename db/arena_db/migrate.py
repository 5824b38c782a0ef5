"""Upgrades the tables of a store to the revision of this version."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import inspect
from sqlalchemy.exc import IntegrityError

from arena_db.errors import DamagedError, UnsupportedError
from arena_db.models import APPLICATION_ID

if TYPE_CHECKING:
    from sqlalchemy import Connection


def script_location() -> Path:
    """Return the folder of the migrations: in the installed package, or at the root of a checkout.

    Raises:
        UnsupportedError: there is none.
    """
    package = Path(__file__).parent
    for folder in (package / "migrations", package.parents[1] / "alembic"):
        if (folder / "env.py").is_file():
            return folder
    raise UnsupportedError(f"no migrations beside {package}; install bot-arena again")


def known_revisions() -> list[str]:
    """Return the revisions that this version has migrations for, oldest first."""
    scripts = ScriptDirectory(str(script_location()))
    return [script.revision for script in scripts.walk_revisions()][::-1]


def upgrade(connection: Connection, revision: str = "head") -> None:
    """Upgrade the tables to a revision, within the open transaction of a connection without foreign keys.

    Raises:
        DamagedError: rows were lost, or a rule or a foreign key is violated; the caller rolls back.
    """
    # Counted before and after: a migration that copies a table could lose rows without an error.
    before = _count_rows(connection)
    config = Config()
    # `%` starts an interpolation in Alembic's options.
    config.set_main_option("script_location", str(script_location()).replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, revision)
    except IntegrityError as error:
        raise DamagedError(
            f"the upgrade would break a rule of the tables ({error.orig}); the store stays as it was"
        ) from error
    is_lost = False
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(f"PRAGMA application_id={APPLICATION_ID}")
        is_lost = connection.exec_driver_sql("PRAGMA foreign_key_check").first() is not None
    after = _count_rows(connection)
    lost = [table for table, num in before.items() if after.get(table, num) < num]
    if lost or is_lost:
        raise DamagedError(
            f"the upgrade would lose rows ({', '.join(lost) or 'foreign keys'}); the store stays as it was"
        )


def _count_rows(connection: Connection) -> dict[str, int]:
    quote = connection.dialect.identifier_preparer.quote
    names = inspect(connection).get_table_names()
    sizes = [connection.exec_driver_sql(f"SELECT count(*) FROM {quote(name)}").scalar_one() for name in names]  # noqa: S608 — quoted names of our own tables
    return dict(zip(names, sizes, strict=True))
