"""`arena doctor`: which tiers of isolation this machine has, proved by attacks, and what troubles hosts."""

from __future__ import annotations

from pathlib import Path

import click
from rich_click import RichCommand

from arena.cli.options import format_option


@click.command(cls=RichCommand)
@click.option(
    "--attacks",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also try the functions attack_*(targets) of this Python file in each tier.",
)
@format_option
def doctor(*, file: Path | None, form: str) -> None:
    """Attack canaries from each tier of isolation, and say which tier bots get.

    It takes some seconds. Nothing but files, sockets and processes made for the purpose is attacked.
    """
    from arena.cli.guarantees import attack_rows, collect_facts, own_rows, print_facts
    from arena.cli.output import emit, emit_one
    from arena.sandbox.canaries.own import names_in
    from arena.sandbox.grade import run_attacks
    from arena.sandbox.tier import Tier

    names = names_in(file) if file else {}
    grades = [run_attacks(tier) for tier in (Tier.T1, Tier.T2, Tier.T3)]
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
