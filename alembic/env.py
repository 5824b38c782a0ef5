"""Runs the migrations on a caller's connection, or, for developers, on the file of `alembic -x db=FILE`."""

from alembic import context
from sqlalchemy import NullPool, create_engine
from sqlalchemy.engine import URL, Connection

from arena_db.models import metadata


def run(connection: Connection) -> None:
    """Run the migrations; an open transaction stays open, so that the caller can check and commit it."""
    context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
    with context.begin_transaction():
        context.run_migrations()


def run_for_developer() -> None:
    file = context.get_x_argument(as_dictionary=True)["db"]
    # Foreign keys stay off: with them on, rebuilding a table deletes the rows that refer to it.
    engine = create_engine(URL.create("sqlite", database=str(file)), poolclass=NullPool)
    with engine.connect() as connection:
        run(connection)


given: Connection | None = context.config.attributes.get("connection")
if given is None:
    run_for_developer()
else:
    run(given)
