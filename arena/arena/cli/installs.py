"""`arena bots install`, `keep` and `remove`: bots from wheels, and bots kept in their present state."""

from __future__ import annotations

import re

import click
from rich_click import RichCommand

from arena_plugins.entries import NUM_DIGITS

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
