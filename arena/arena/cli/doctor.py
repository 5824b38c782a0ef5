"""`arena doctor`: which isolation tiers this machine has, proved by attacks, and known problems of hosts."""

from __future__ import annotations

from errno import errorcode
from pathlib import Path

import click
from rich_click import RichCommand

from arena.cli.options import format_option

_TRACE_MS = 60_000
"""Milliseconds that a traced bot has to start, and the same again to answer."""
_TRACE_COLUMNS = {"call": "Call", "times": "Times", "error": "Error", "allow": "Allowed by"}


@click.command(cls=RichCommand)
@click.option(
    "--attacks",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also try the functions attack_*(targets) of this Python file in each tier.",
)
@click.option("--trace", metavar="SPEC", help="Show the system calls that the sandbox refuses to this bot.")
@click.option(
    "--game", default="connect-four", show_default=True, metavar="SPEC", help="The game for --trace."
)
@format_option
def doctor(*, file: Path | None, trace: str | None, game: str, form: str) -> None:
    """Attack canaries from each isolation tier, and say which tier bots get.

    Bots for the runtimes found in PATH (python3, node, sh) are asked for one move in that tier; java is asked
    for its version. This takes a few seconds. Only files, sockets and processes made for the purpose are
    attacked.

    With --trace no attack is made. The bot starts and answers one move in the tier that bots get, and the
    command lists the system calls that the sandbox refused. Most programs go on without them.
    """
    if trace is not None:
        _trace(trace, game, form)
        return
    from arena.cli.guarantees import attack_rows, collect_facts, own_rows, print_facts
    from arena.cli.output import emit, emit_one
    from arena.sandbox.canaries.host_attacks import names_in
    from arena.sandbox.tier import Tier
    from arena.sandbox.tier_grades import run_attacks

    names = names_in(file) if file else {}
    grades = run_attacks([Tier.T1, Tier.T2, Tier.T3])
    rows = attack_rows(grades)
    if file:
        rows += own_rows(grades, file, names)
    facts = collect_facts(grades)
    if form == "table":
        emit("attack", rows, form, {key: key for key in rows[0]})
        print_facts(facts)
    elif form == "json":
        emit_one("doctor", {**facts._asdict(), "attacks": rows}, form)
    else:
        emit("attack", rows, form, {})


def _trace(spec: str, game: str, form: str) -> None:
    from arena.cli.output import emit, say
    from arena.entrants import resolve
    from arena.errors import BotFailedError, ConfigError
    from arena.executor.preflight import describe_fault, preflight
    from arena.referee.timecontrol import TimeControl
    from arena.sandbox.tier import Tier
    from arena.sandbox.tier_grades import default_tier
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
