"""`arena bots`: installed bots, their check, and a new one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from arena.cli.exits import ArenaGroup, BotFailedError, Exit
from arena.cli.options import format_option

_COLUMNS = {
    "name": "Name",
    "distribution": "Distribution",
    "version": "Version",
    "entry": "Entry point",
    "status": "Status",
}


@click.group(cls=ArenaGroup)
def bots() -> None:
    """Installed bots: list, look at, check, begin a new one."""


@bots.command(name="list")
@format_option
def list_(form: str) -> None:
    """List all bots; each is loaded once, in a process of its own, so a broken one hurts nothing."""
    from arena.cli.output import emit
    from arena.executor.trial import load_status
    from arena_plugins.entries import BOTS, list_plugins

    listing = list_plugins(BOTS)
    rows: list[dict[str, Any]] = [
        {**_row(entry), "status": load_status(BOTS, entry)} for entry in listing.entries.values()
    ]
    rows += [{**_row(problem.entry), "status": problem.reason} for problem in listing.problems]
    emit("bot", rows, form, _COLUMNS)


@bots.command()
@click.argument("bot")
@format_option
def info(bot: str, form: str) -> None:
    """Tell what is known of BOT: where it comes from, and its identity as a competitor."""
    import msgspec

    from arena.cli.output import emit
    from arena.entrants import resolve

    competitor = resolve([bot], margin_ms=0)[0]
    limit = None if competitor.limit is None else str(competitor.limit)
    row = {**msgspec.to_builtins(competitor.record), "entry": competitor.entry, "limit": limit}
    if form != "table":
        emit("bot", [row], form, {})
        return
    for key, value in row.items():
        click.echo(f"{key:13} {'-' if value is None else value}")


@bots.command()
@click.argument("bot")
@click.option(
    "--game", default="connect-four", show_default=True, metavar="SPEC", help="What it plays in the check."
)
@click.option("--seconds", default=0.1, show_default=True, help="Time for one answer.")
def check(bot: str, game: str, seconds: float) -> None:
    """Run the conformance kit on BOT, in a process of its own."""
    from arena.entrants import resolve
    from arena.executor.trial import run_kit

    resolve([bot], margin_ms=0)
    failed = 0
    for check in run_kit(bot, game, seconds):
        failed += not check.passed
        click.echo(f"{'PASS' if check.passed else 'FAIL'} {check.number:2} {check.title} ({check.detail})")
    if failed:
        raise BotFailedError(f"{bot} failed {failed} of the checks above")
    click.echo(f"{bot} keeps the contract in {game}")


@bots.command()
@click.argument("name")
@click.option("--into", type=click.Path(path_type=Path), help="The folder to write.  [default: ./NAME]")
def new(name: str, into: Path | None) -> None:
    """Write the skeleton of a plugin with a bot called NAME: code, tests, packaging, a guide."""
    from arena_plugins.skeleton import write_skeleton

    folder = into or Path(name)
    for path in write_skeleton(name, folder):
        click.echo(path)
    click.echo(f"next: cd {folder} && pip install -e . && pytest && arena bots check {name}", err=True)
    sys.exit(Exit.COMPLETE)


def _row(entry: Any) -> dict[str, Any]:  # noqa: ANN401 - an Entry of arena_plugins
    return {
        "name": entry.name,
        "distribution": entry.distribution,
        "version": entry.version,
        "entry": entry.value,
    }
