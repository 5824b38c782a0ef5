"""`arena doctor`: which tiers of isolation this machine has, proved by attacks, and what troubles hosts."""

from __future__ import annotations

import sys
from errno import errorcode
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
from rich_click import RichCommand

from arena.cli.options import format_option

if TYPE_CHECKING:
    from arena.sandbox.grade import Grade


_TRACE_MS = 60_000
"""Milliseconds a traced bot has to start, and again to answer."""


class _Facts(NamedTuple):
    """What is said beside the attacks."""

    auto: str
    granted: list[str]
    causes: dict[str, str]
    limits: str
    kernel: str
    landlock: int
    user: str
    weaknesses: list[str]
    pth: list[str]
    sqlite: str
    single_writer: bool


_TRACE_COLUMNS = {"call": "Call", "times": "Times", "error": "Error", "allow": "Allowed by"}


@click.command(cls=RichCommand)
@click.option("--trace", metavar="SPEC", help="Show the system calls that the sandbox refuses to this bot.")
@click.option(
    "--game", default="connect-four", show_default=True, metavar="SPEC", help="What it plays for --trace."
)
@format_option
def doctor(*, trace: str | None, game: str, form: str) -> None:
    """Attack canaries from each tier of isolation, and say which tier bots get.

    It takes a second. Nothing but files, sockets and processes made for the purpose is attacked.

    With --trace no attack is made. The bot starts and answers one move in the tier that bots get, and the
    system calls that were refused are listed. Most programs go on without them.
    """
    if trace is not None:
        _trace(trace, game, form)
        return
    from arena.cli.output import emit, emit_one
    from arena.sandbox.attacks import NAMES
    from arena.sandbox.grade import run_attacks
    from arena.sandbox.tier import Tier

    grades = [run_attacks(tier) for tier in (Tier.T1, Tier.T2, Tier.T3)]
    rows = [
        {"attack": number, "name": name, **{grade.tier.value: _verdict(grade, number) for grade in grades}}
        for number, name in NAMES.items()
    ]
    facts = _facts(grades)
    if form == "table":
        emit("attack", rows, form, {key: key for key in rows[0]})
        _print_facts(facts)
    elif form == "json":
        emit_one("doctor", {**facts._asdict(), "attacks": rows}, form)
    else:
        emit("attack", rows, form, {})


def _trace(spec: str, game: str, form: str) -> None:
    from arena.cli.exits import BotFailedError
    from arena.cli.output import emit, say
    from arena.entrants import resolve
    from arena.errors import ConfigError
    from arena.executor.preflight import describe_fault, preflight
    from arena.referee.timecontrol import TimeControl
    from arena.sandbox.grade import default_tier
    from arena.sandbox.tier import Tier
    from arena.sandbox.trace import Tracer
    from arena_plugins import load_game

    tier = default_tier()
    if tier < Tier.T2:
        raise ConfigError(
            f"no system call is refused in tier {tier}, the strongest here; arena doctor says why"
        )
    competitor = resolve([spec], margin_ms=0)[0]
    limit = TimeControl(mode="move", move_ms=_TRACE_MS)
    with Tracer() as tracer:
        fault = preflight(
            competitor, load_game(game), limit, tier=tier, init_s=_TRACE_MS / 1000, tracer=tracer
        )
    rows = [
        {"call": call.name, "times": call.times, "error": errorcode[call.error], "allow": call.allowed_by}
        for call in tracer.refused()
    ]
    if rows or form != "table":
        emit("refused", rows, form, _TRACE_COLUMNS, tuple(_TRACE_COLUMNS))
    else:
        say(f"tier {tier} refused {spec} no system call")
    if fault is not None:
        raise BotFailedError(f"{spec} did not answer a move in tier {tier}: {describe_fault(fault)}")


def _verdict(grade: Grade, number: int) -> str:
    if grade.cause:
        return "no tier"
    if number == 0:
        return "fails" if 0 in grade.failed else "works"
    return "WORKS" if number in grade.failed else "blocked"


def _facts(grades: list[Grade]) -> _Facts:
    from arena.sandbox.grade import default_tier
    from arena.sandbox.limits.exact import describe_limits
    from arena.sandbox.tier import weaknesses
    from arena_db.engine import find_driver

    driver = find_driver()
    return _Facts(
        auto=default_tier().value,
        granted=[grade.tier.value for grade in grades if grade.is_granted],
        causes={grade.tier.value: grade.cause for grade in grades if grade.cause},
        limits=describe_limits(),
        kernel=grades[0].kernel,
        landlock=grades[0].landlock,
        user=_user(grades[0]),
        weaknesses=weaknesses(),
        pth=_pth_files(),
        sqlite=driver.module.sqlite_version,
        single_writer=driver.single_writer,
    )


def _user(grade: Grade) -> str:
    import os

    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "bots run as the user of the arena, who is not root"
    if grade.uid_kept:
        return (
            "bots run as root without capabilities: other users cannot reach the interpreter or the packages"
        )
    return "the arena is root; each bot runs as a user of its own"


def _pth_files() -> list[str]:
    """Give the .pth files whose code every Python here runs at its start, though the host of no bot does."""
    return [
        str(path)
        for folder in dict.fromkeys(sys.path)
        if folder and Path(folder).is_dir()
        for path in sorted(Path(folder).glob("*.pth"))
        if any(
            line.startswith(("import ", "import\t")) for line in path.read_text(errors="replace").splitlines()
        )
    ]


def _print_facts(facts: _Facts) -> None:
    from arena.cli.output import say

    say("")
    say(f"tier      {facts.auto} is what --isolation auto takes")
    for tier, cause in facts.causes.items():
        say(f"          {tier}: {cause}")
    say(f"limits    {facts.limits}")
    for weakness in facts.weaknesses:
        say(f"weaker    {weakness}")
    say(f"kernel    {facts.kernel}, Landlock ABI {facts.landlock}")
    say(f"user      {facts.user}")
    say(f"startup   {len(facts.pth) or 'no'} .pth files run code at every start of this Python")
    for file in facts.pth:
        say(f"          {file}")
    writers = "one writer at a time, since it is below 3.51.3" if facts.single_writer else "several writers"
    say(f"SQLite    {facts.sqlite}: {writers}")
