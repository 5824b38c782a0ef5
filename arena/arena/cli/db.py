"""`arena db`: look after the store."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from arena.cli.exits import ArenaGroup, Exit
from arena.cli.options import db_option


@click.group(cls=ArenaGroup)
def db() -> None:
    """Look after the store: one SQLite file that holds everything."""


@db.command()
@db_option
def path(db: str | None) -> None:
    """Print where the store lies."""
    from arena.home import store_path

    click.echo(store_path(db))


@db.command()
@db_option
def upgrade(db: str | None) -> None:
    """Bring the store to the schema of this version, after a backup beside it."""
    from arena.home import open_store

    with open_store(db) as store:
        click.echo(f"{store.path} has the schema of this version")


@db.command()
@click.option("--quick", is_flag=True, help="Leave out what reads every match.")
@db_option
def check(db: str | None, *, quick: bool) -> None:
    """Look for damage: file, tables, references, the hash of every match, kept counts."""
    from arena.home import open_store

    with open_store(db, read_only=True) as store:
        faults = store.check(quick=quick)
        for fault in faults:
            click.echo(fault)
        if faults:
            sys.exit(Exit.STORE)
        click.echo(f"{store.path} is in order")


@db.command()
@click.argument("target", type=click.Path(path_type=Path))
@db_option
def backup(target: Path, db: str | None) -> None:
    """Copy the store to the file TARGET; it may be in use meanwhile."""
    from arena.home import open_store

    with open_store(db, read_only=True) as store:
        store.backup(target)
        click.echo(f"{store.path} is copied to {target}")
