"""`arena bots`: installed bots, their check, a new one; `install` and `remove` are in `installs`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich_click import RichCommand, RichGroup

from arena.cli.exits import BotFailedError
from arena.cli.installs import install, remove
from arena.cli.options import format_option
from arena_plugins.entries import NUM_DIGITS

if TYPE_CHECKING:
    from arena_plugins.entries import Entry

_COLUMNS = {
    "name": "Name",
    "distribution": "Distribution",
    "version": "Version",
    "hash": "Hash",
    "newest": "Newest",
    "entry": "Entry point",
    "place": "Place",
    "status": "Status",
}


@click.group(cls=RichGroup)
def bots() -> None:
    """Bots: list, look at, check, install, remove, begin a new one."""


@bots.command(cls=RichCommand, name="list")
@format_option
def list_(*, form: str) -> None:
    """List all versions of all bots; a name without a version means the newest one.

    Each is loaded once, in a process of its own, so a broken one hurts nothing. Hash: the first digits of the
    SHA-256 of its wheel, which may stand in place of a version.
    """
    from arena.cli.output import emit
    from arena.executor.trial import load_status
    from arena.shelf.listing import list_bots
    from arena_plugins.entries import BOTS

    listing = list_bots()
    rows = [
        _row(entry, load_status(BOTS, entry), is_newest=entry == newest)
        for name, newest in listing.entries.items()
        for entry in listing.versions_of(name)
    ]
    rows += [_row(problem.entry, problem.reason, is_newest=False) for problem in listing.problems]
    emit("bot", rows, form, _COLUMNS, tuple(_COLUMNS))


@bots.command(cls=RichCommand)
@click.argument("bot")
@format_option
def info(bot: str, *, form: str) -> None:
    """Tell what is known of BOT: where it comes from, and its identity as a competitor."""
    from arena.cli.objects import bot_object
    from arena.cli.output import emit_one, say
    from arena.entrants import resolve

    competitor = resolve([bot], margin_ms=0)[0]
    limit = None if competitor.limit is None else str(competitor.limit)
    row = {**bot_object(competitor.record), "entry": competitor.entry, "limit": limit}
    row["folder"] = competitor.folder or None
    if form != "table":
        emit_one("bot", row, form)
        return
    for key, value in row.items():
        say(f"{key:13} {'-' if value is None else value}")


@bots.command(cls=RichCommand)
@click.argument("bot", required=False, metavar="[BOT]")
@click.option("--hostile", is_flag=True, help="Try the arena instead: play bots that cheat, hang and crash.")
@click.option(
    "--only", multiple=True, metavar="NAME", help="With --hostile: this bot alone; may be repeated."
)
@click.option(
    "--game", default="connect-four", show_default=True, metavar="SPEC", help="What it plays in the check."
)
@click.option(
    "--seconds",
    type=click.FloatRange(0.001, 60),
    metavar="S",
    default=0.1,
    show_default=True,
    help="Time for one answer.",
)
def check(bot: str | None, *, hostile: bool, only: tuple[str, ...], game: str, seconds: float) -> None:
    """Run the conformance kit on BOT, in a process of its own."""
    from arena.cli.output import say
    from arena.entrants import resolve
    from arena.executor.checked import keep, summary
    from arena.executor.trial import run_kit
    from arena_plugins import load_game

    load_game(game)
    if hostile == (bot is not None):
        raise click.UsageError("give a BOT to check, or --hostile to try the arena itself")
    if bot is None:
        _try_arena(game, only)
        return
    competitor = resolve([bot], margin_ms=0)[0]
    failed = 0
    checks = run_kit(bot, game, seconds)
    keep(summary(bot, competitor.record.identity, game, time.time(), checks))
    for done in checks:
        failed += not done.passed
        say(f"{'PASS' if done.passed else 'FAIL'} {done.number:2} {done.title} ({done.detail})")
    if failed:
        raise BotFailedError(f"{bot} failed {failed} of the checks above")
    say(f"{bot} keeps the contract in {game}")


@bots.command(cls=RichCommand)
@click.argument("name")
@click.option(
    "--into",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="The folder to write.  [default: ./NAME]",
)
def new(name: str, *, into: Path | None) -> None:
    """Write the skeleton of a plugin with a bot called NAME: code, tests, packaging, a guide."""
    from arena.cli.output import say
    from arena_plugins.skeleton import write_skeleton

    folder = into or Path(name)
    for path in write_skeleton(name, folder):
        say(str(path))
    say(f"next: cd {folder} && pip install -e . && pytest && arena bots check {name}", err=True)


def _try_arena(game: str, only: tuple[str, ...]) -> None:
    from arena.cli.output import say
    from arena.sandbox.grade import default_tier
    from arena.trials.suite import Trial, run_suite
    from arena_plugins.hostile.table import TABLE

    def tell(trial: Trial) -> None:
        verdict = "FAIL" if trial.deviations else "PASS"
        say(f"{verdict} {trial.number:2} {trial.name} ({'; '.join(trial.deviations) or trial.termination})")

    tier = default_tier()
    unknown = set(only) - {row.name for row in TABLE}
    if unknown:
        known = ", ".join(row.name for row in TABLE)
        raise click.BadParameter(
            f"no hostile bot {', '.join(sorted(unknown))}; there are {known}", param_hint="--only"
        )
    trials, _ = run_suite([tier], [game], select=lambda row: not only or row.name in only, on_trial=tell)
    failed = sum(bool(trial.deviations) for trial in trials)
    if failed:
        raise BotFailedError(f"{failed} of {len(trials)} hostile bots did not get the verdict they must get")
    say(f"all {len(trials)} hostile bots got their verdict in {game}, tier {tier}")


bots.add_command(install)
bots.add_command(remove)


def _row(entry: Entry, status: str, *, is_newest: bool) -> dict[str, object]:
    return {
        "name": entry.name,
        "distribution": entry.distribution,
        "version": entry.version,
        "hash": entry.digest[:NUM_DIGITS] or None,
        "newest": is_newest,
        "entry": entry.value,
        "place": "folder" if entry.folder else "environment",
        "status": status,
    }
