"""`arena db`: maintain the store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich_click import RichCommand, RichGroup

from arena.cli.exits import Exit
from arena.cli.options import db_option

if TYPE_CHECKING:
    from arena_db.store import Store


@click.group(cls=RichGroup)
def db() -> None:
    """Maintain the store: one SQLite file, or a database of a PostgreSQL server, that holds all data."""


@db.command(cls=RichCommand)
@db_option
def path(*, db: str | None) -> None:
    """Print the path of the store."""
    from arena.home import store_place

    click.echo(store_place(db))


@db.command(cls=RichCommand)
@db_option
def upgrade(*, db: str | None) -> None:
    """Upgrade the store to the schema of this version, after a backup next to it."""
    from arena.cli.output import say
    from arena.home import open_store

    with open_store(db, create=False) as store:
        say(f"{store.place} has the schema of this version")


@db.command(cls=RichCommand)
@click.option("--quick", is_flag=True, help="Skip the checks that read every match.")
@db_option
def check(*, quick: bool, db: str | None) -> Exit:
    """Look for damage: file, schema, seals, plans, every match by hash and rules, counts and sums."""
    from arena.home import open_store

    with open_store(db, read_only=True) as store:
        return _checked(store, quick=quick)


@db.command(cls=RichCommand)
@db_option
def repair(*, db: str | None) -> Exit:
    """Rebuild indexes, marks, counts and sums from plans and matches, which are not changed; then check.

    Tournaments whose pairings depend on their own results are replayed where their ratings are missing.
    """
    from arena.cli.output import say
    from arena.coordinator.replaying import keep_all_replays
    from arena.home import open_store

    with open_store(db, create=False) as store:
        changed: list[str] = []
        store.integrity.repair(changed.append)
        changed += [f"the ratings of {name} are replayed" for name in keep_all_replays(store)]
        for text in changed:
            say(text)
        say(
            "indexes, counts and sums were rebuilt from plans and matches" if changed else "nothing to repair"
        )
        return _checked(store, quick=False)


def _checked(store: Store, *, quick: bool) -> Exit:
    """Print the faults of a store; return the exit status that says whether there are any."""
    from arena.cli.output import say

    faults = store.integrity.check(quick=quick)
    notes: list[str] = []
    if not faults and not quick:
        # The audit is skipped if the store itself is inconsistent.
        from arena.coordinator.audit import audit

        for found in audit(store):
            (faults if found.is_fault else notes).append(found.text)
    for text in (*faults, *notes):
        say(text)
    if not faults:
        say(f"{store.place} is in order")
        return Exit.COMPLETE
    from arena_db.cold.thawing import PUT_BACK

    told = [fault for fault in faults if fault != "more of the same kind"]
    is_derived = all("`arena db repair`" in fault for fault in told)
    way = "arena db repair fixes this" if is_derived else "arena db restore BACKUP restores a backup"
    if all(PUT_BACK in fault for fault in told):
        way = f"{PUT_BACK} named above"
    say(f"{store.place} is damaged; {way}", err=True)
    return Exit.STORE


@db.command(cls=RichCommand)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--dry-run", is_flag=True, help="Only print how much room this would make.")
@db_option
def prune(names: tuple[str, ...], *, dry_run: bool, db: str | None) -> None:
    """Remove the results by opening of the finished tournaments NAME..., or of all; tables stay the same.

    They are computed again from the matches as soon as one is added or becomes void.
    """
    from arena.cli.output import say
    from arena.home import open_store
    from arena.results.addresses import find_tournament

    with open_store(db, create=False, read_only=dry_run) as store:
        chosen = [find_tournament(store, name, unfinished=False).id for name in names]
        found = store.sums.prune(chosen or None, dry_run=dry_run)
        num = sum(each.num_rows for each in found)
        size = f"{sum(each.num_bytes for each in found) / 1e6:.1f} MB"
        what = f"{num} rows of {len(found)} tournament{'' if len(found) == 1 else 's'}"
        if not found:
            say("nothing to prune: only finished tournaments are pruned, each once")
        elif dry_run:
            say(f"{what} would be removed, which makes room for about {size} of later matches")
        else:
            say(f"{what} are removed, which makes room for about {size} of later matches")


@db.command(cls=RichCommand)
@click.argument("target", type=click.Path(path_type=Path))
@db_option
def backup(target: Path, *, db: str | None) -> None:
    """Copy the store to the file TARGET; the store may be in use meanwhile."""
    from arena.cli.output import say
    from arena.home import open_store

    with open_store(db, read_only=True) as store:
        store.backup(target)
        say(f"{store.place} is copied to {target}")
        for folder in sorted({str(cold.folder.parent) for cold in store.cold.tournaments()}):
            say(f"archived matches are not in it: copy {folder}, too")


@db.command(cls=RichCommand)
@click.argument("source", metavar="BACKUP", type=click.Path(path_type=Path))
@db_option
def restore(source: Path, *, db: str | None) -> None:
    """Replace the store with a copy of BACKUP; the old store is kept next to it."""
    from arena.cli.output import say
    from arena.home import restore_store, store_place

    old = restore_store(source, db)
    say(f"{store_place(db)} is restored from {source}")
    if old is not None:
        say(f"the old store is {old}")


@db.command(cls=RichCommand)
@click.argument("other")
@db_option
def merge(other: str, *, db: str | None) -> None:
    """Copy the tournaments of the store OTHER, or the results of the rescue file OTHER; OTHER is not changed.

    OTHER may be a file or postgresql://USER@HOST/DB, so this also moves a store to a server and back. Merging
    twice is the same as merging once. Tournaments from OTHER are read-only here; they are continued in OTHER.
    The command refuses two stores in which the same tournament was continued. A run whose store was moved
    away writes its results to a rescue file: merge it into that store or a backup of it to store the missing
    results.
    """
    from arena.cli.output import say
    from arena.coordinator.replaying import keep_all_replays
    from arena.home import open_store
    from arena_db.backend.places import find_place
    from arena_db.rescue import is_rescue

    file = None if "://" in other else Path(other)
    if file is not None and file.is_file() and is_rescue(file):
        with open_store(db, create=False) as store:
            _merge_rescue(store, file)
        return
    with open_store(db) as store:
        merged = store.transfers.merge(other if file is None else file)
        keep_all_replays(store)
        for each in merged:
            name = each.name if each.name == each.former_name else f"{each.name} (there {each.former_name})"
            if each.num_rows:
                say(f"{name}: {each.num_matches} new match{'' if each.num_matches == 1 else 'es'}")
        if not any(each.num_rows for each in merged):
            say(f"all of {find_place(other)} is in {store.place} already")


def _merge_rescue(store: Store, file: Path) -> None:
    """Store the results of a run that lost its store, and print the next step."""
    from arena.cli.output import say

    found = store.transfers.merge_rescue(file)
    record = store.tournaments.find(found.tournament)
    if record is None:
        return
    new = f"{found.num_new} new match{'' if found.num_new == 1 else 'es'} of {found.num_results}"
    say(f"{record.name}: {new}" if found.num_new else f"all of {file} is in {store.place} already")
    if found.num_unplanned:
        say(
            f"{found.num_unplanned} results are of matches that are not planned in {store.place}, which is "
            f"older than the store that was lost: {record.name} plays them again; a newer backup keeps them",
            err=True,
        )
    if record.state != "finished":
        say(f"arena resume {record.name} continues it")
