"""`arena bots`: list, inspect, check, create, install, keep and remove bots; see also `histories`."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich_click import RichCommand, RichGroup

from arena.cli.histories import history
from arena.cli.options import db_option, format_option
from arena.cli.report_commands import show_bot
from arena.errors import BotFailedError
from arena_plugins.entries import NUM_DIGITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.coordinator.changes import Played
    from arena.entrants import Competitor
    from arena.shelf.kept import KeptBot
    from arena_plugins.conformance import Check
    from arena_plugins.entries import Entry

_SHA256 = re.compile(r"[0-9a-fA-F]{64}\Z")


def _check_sha256(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    if value is not None and not _SHA256.match(value):
        raise click.BadParameter("a SHA-256 is 64 hexadecimal digits")
    return value


@click.command(cls=RichCommand)
@click.argument("wheel")
@click.option(
    "--sha256",
    metavar="HEX",
    callback=_check_sha256,
    help="The hash that the wheel must have.",
)
@click.option(
    "--index", metavar="URL", help="The package index in which names are looked up (default: that of pip)."
)
@click.option(
    "--as",
    "name",
    metavar="NAME",
    help="Call the bot NAME; only for a wheel with a single bot.  [default: the name in the wheel]",
)
def install(wheel: str, *, sha256: str | None, index: str | None, name: str | None) -> None:
    """Install the bots of WHEEL, a .whl file or the name of a package, into a folder of their own.

    Several versions of a package can be installed: my-bot@0.1.0 can play my-bot@0.2.0, and my-bot is the
    newest.

    No code of the wheel ever runs in the arena's own processes: its bots play in processes of their own, and
    games in the wheel are never loaded. Dependencies that the arena lacks are downloaded as wheels, too.
    """
    from arena.cli.output import say
    from arena.shelf import install as shelf
    from arena.shelf.listing import find_bot

    installed, names = shelf.install(wheel, sha256=sha256, index=index, name=name)
    say(f"installed {installed.distribution} {installed.version}: {', '.join(names)}")
    say(f"sha256 {installed.sha256} {installed.wheel}")
    for file, value in installed.also.items():
        say(f"sha256 {value} {file}")
    is_newest = find_bot(names[0]).digest == installed.sha256
    bot = names[0] if is_newest else f"{names[0]}@{installed.sha256[:NUM_DIGITS]}"
    say(f"next: arena bots check {bot}", err=True)


@click.command(cls=RichCommand)
@click.argument("bot")
def keep(bot: str) -> None:
    """Keep BOT as it is now, so that a later version can be tested against it: arena test BOT.

    Its files are copied, and the copy stays when they change or are deleted. The command prints an address,
    its version or the first digits of its content, under which the bot can be entered anywhere.
    """
    from arena.cli.output import say
    from arena.entrants import resolve
    from arena.shelf.kept import keep_bot

    (competitor,) = resolve([bot], margin_ms=0)
    kept = keep_bot(competitor.record)
    say(f"kept {kept.record.spec} {kept.record.version} as {kept.address}")


@click.command(cls=RichCommand)
@click.argument("name", metavar="NAME[@VERSION]")
def remove(name: str) -> None:
    """Remove the bot or package called NAME, with everything from its wheel; or a kept bot.

    If several versions are installed, name one as in my-bot@0.1.0, or by the digits that arena bots list
    shows. A kept bot is named by its whole address.
    """
    from arena.cli.output import say
    from arena.shelf import install as shelf
    from arena.shelf.kept import drop_kept, kept_bots

    kept = next((each for each in kept_bots() if each.address == name), None)
    if kept is not None:
        drop_kept(kept)
        say(f"{name} is no longer kept")
        return
    say(f"removed {', '.join(shelf.remove(name)) or name}")


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
    """Bots: list, inspect, check, install, remove, create one, see their results."""


@bots.command(cls=RichCommand, name="list")
@format_option
def list_(*, form: str) -> None:
    """List all versions of all bots; a name without a version means the newest one.

    Each bot is loaded once, in a sandboxed process, so a broken one does no harm. Hash: the first digits of
    the SHA-256 of its wheel, or of the content of a kept bot; they can be used in place of a version.
    """
    from arena.cli.output import emit
    from arena.executor.sandboxed import load_statuses
    from arena.shelf.kept import kept_bots
    from arena.shelf.listing import list_bots
    from arena_plugins.entries import BOTS

    listing = list_bots()
    entries = [entry for name in listing.entries for entry in listing.versions_of(name)]
    rows = [
        _row(entry, status, is_newest=entry == listing.entries[entry.name])
        for entry, status in zip(entries, load_statuses(BOTS, entries), strict=True)
    ]
    rows += [_row(problem.entry, problem.reason, is_newest=False) for problem in listing.problems]
    rows += [_kept_row(kept) for kept in kept_bots()]
    emit("bot", rows, form, _COLUMNS, tuple(_COLUMNS))


@bots.command(cls=RichCommand)
@click.argument("bot")
@db_option
@format_option
def info(bot: str, *, db: str | None, form: str) -> None:
    """Show the origin and the identity of BOT, and its matches with each content."""
    from arena.cli.output import emit_one, say
    from arena.coordinator.changes import played_before
    from arena.entrants import resolve
    from arena.home import has_store, open_store
    from arena.watching.objects import bot_object

    competitor = resolve([bot], margin_ms=0, keep=False)[0]
    limit = None if competitor.limit is None else str(competitor.limit)
    row = {**bot_object(competitor.record), "entry": competitor.entry, "limit": limit}
    row["folder"] = competitor.folder or None
    played: list[Played] = []
    if has_store(db):
        with open_store(db, read_only=True, create=False) as store:
            played = played_before(store, competitor.record)
    row["num_files"] = competitor.num_files
    row["played"] = [
        {
            "identity": each.record.identity,
            "content": each.record.content or None,
            "matches": each.num_matches,
        }
        for each in played
    ]
    if form != "table":
        emit_one("bot", row, form)
        return
    del row["num_files"], row["played"]
    row["content"] = _content_line(competitor, played)
    for key, value in row.items():
        say(f"{key:13} {'-' if value is None else value}")


@bots.command(cls=RichCommand)
@click.argument("bot", required=False, metavar="[BOT]")
@click.option(
    "--hostile",
    is_flag=True,
    help="Also play BOT under adverse conditions: a full disk, little memory, a long pause. Without BOT test "
    "the arena with bots that cheat, hang and crash.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="With --hostile, without BOT: only this hostile bot; may be repeated.",
)
@click.option(
    "--game", default="connect-four", show_default=True, metavar="SPEC", help="The game of the check."
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
    """Run the conformance kit on BOT, in a process of its own.

    With --hostile BOT also plays matches with a full scratch folder, without a free inode, with 256 MB of
    memory, without /proc, without chmod, with a pause of 5 seconds between two moves, and after its process
    was killed. It passes if it plays on or stops with a reason, and fails if it hangs or dies without a
    message.
    """
    from arena.cli.failures import print_failure
    from arena.cli.output import say
    from arena.entrants import resolve
    from arena.executor import checked
    from arena.executor.sandbox_trial import run_kit
    from arena.executor.seat_checks import run_stress_checks
    from arena_plugins import load_game

    load_game(game)
    if bot is None and not hostile:
        raise click.UsageError("give a BOT to check, or --hostile to try the arena itself")
    if bot is not None and only:
        raise click.UsageError(
            "--only chooses among the arena's hostile bots; leave it out, or leave out BOT"
        )
    if bot is None:
        _try_arena(game, only)
        return
    competitor = resolve([bot], margin_ms=0, keep=False)[0]
    checks: list[Check] = []
    stderr: list[str] = []

    def tell(done: Check) -> None:
        checks.append(done)
        say(f"{'PASS' if done.passed else 'FAIL'} {done.number:2} {done.title} ({done.detail})")

    for done in run_kit(bot, game, seconds, on_failure=stderr.append):
        tell(done)
    if hostile and checks[0].passed:
        for done in run_stress_checks(bot, game, seconds=seconds, first_number=len(checks) + 1):
            tell(done)
    checked.keep(checked.summary(bot, competitor.record.identity, game, time.time(), checks))
    failed = sum(not done.passed for done in checks)
    if failed:
        print_failure(competitor.label, "\n".join(stderr))
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
    """Create a plugin with a bot called NAME: code, tests, packaging, a guide."""
    from arena.cli.output import say
    from arena_plugins.skeleton import write_skeleton

    folder = into or Path(name)
    for path in write_skeleton(name, folder):
        say(str(path))
    say(f"next: cd {folder} && pip install -e '.[test]' && pytest && arena bots check {name}", err=True)


def _try_arena(game: str, only: tuple[str, ...]) -> None:
    from arena.cli.output import say
    from arena.sandbox.tier_grades import default_tier
    from arena.trials.suite import Trial, TrialPlan, run_suite
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
    trials, _ = run_suite(TrialPlan([tier], [game]), lambda row: not only or row.name in only, tell)
    failed = sum(bool(trial.deviations) for trial in trials)
    if failed:
        raise BotFailedError(f"{failed} of {len(trials)} hostile bots did not get the verdict they must get")
    say(f"all {len(trials)} hostile bots got their verdict in {game}, tier {tier}")


@bots.command(cls=RichCommand)
@click.option(
    "--days",
    type=click.FloatRange(0),
    default=30.0,
    show_default=True,
    metavar="N",
    help="Remove copies that were not used for N days.",
)
@db_option
def prune(*, days: float, db: str | None) -> None:
    """Remove copies of bots that have not been used for a while.

    Bots start from copies of their files. Copies that unfinished tournaments or kept bots need are not
    removed. A bot without a copy is copied again when it is entered again; its earlier tournaments can then
    be resumed and verified only if its files are unchanged.
    """
    from arena.cli.output import say
    from arena.content.store import prune as prune_contents
    from arena.coordinator.changes import needed_contents
    from arena.home import has_store, open_store
    from arena.shelf.kept import kept_bots

    needed = {kept.record.content for kept in kept_bots()}
    if has_store(db):
        with open_store(db, read_only=True, create=False) as store:
            needed |= needed_contents(store)
    pruned = prune_contents(needed, unused_s=days * 86_400.0)
    say(f"removed {pruned.num_contents} contents, {pruned.num_bytes / (1 << 20):.1f} MiB")


bots.add_command(history)
bots.add_command(install)
bots.add_command(keep)
bots.add_command(remove)
bots.add_command(show_bot)


def _content_line(competitor: Competitor, played: Sequence[Played]) -> str:
    """Return a line with the content of a bot, and the number of its matches with each content."""
    from arena.entrants import short

    plural = "" if competitor.num_files == 1 else "s"
    parts = [f"{short(competitor.content)}, {competitor.num_files} file{plural}"]
    is_new = all(each.record.identity != competitor.record.identity for each in played)
    for each in played:
        if each.record.identity == competitor.record.identity:
            parts.append(f"{each.num_matches} matches")
        elif each.record.content == competitor.content:
            parts.append(f"{each.num_matches} matches were played by another file of the same content")
        elif each.record.content:
            parts.append(
                f"{each.num_matches} matches were played as {short(each.record.content)} (other code)"
            )
        else:
            parts.append(f"{each.num_matches} matches were played before code was hashed")
    return "; ".join(parts) + (": a new competitor" if played and is_new else "")


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


def _kept_row(kept: KeptBot) -> dict[str, object]:
    record = kept.record
    return {
        "name": record.name,
        "distribution": record.distribution,
        "version": record.version,
        "hash": record.content[:NUM_DIGITS],
        "newest": False,
        "entry": None,
        "place": "kept",
        "status": f"enter it as {kept.address}",
    }
