"""Runs the migrations on a connection given in code, or for developers on `alembic -x db=FILE`."""

from alembic import context
from sqlalchemy import NullPool, create_engine
from sqlalchemy.engine import URL, Connection

from arena_db.models import metadata


def run(connection: Connection) -> None:
    """Run them; a transaction that is open stays open, for the caller to check and to commit."""
    context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
    with context.begin_transaction():
        context.run_migrations()


def run_for_developer() -> None:
    file = context.get_x_argument(as_dictionary=True)["db"]
    # No pragma turns foreign keys on here: with them a batch change of a parent deletes its children.
    engine = create_engine(URL.create("sqlite", database=str(file)), poolclass=NullPool)
    with engine.connect() as connection:
        run(connection)


given: Connection | None = context.config.attributes.get("connection")
if given is None:
    run_for_developer()
else:
    run(given)
