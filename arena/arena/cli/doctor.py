"""`arena doctor`: the isolation tiers of this machine, tested by attacks, and its other guarantees."""

from __future__ import annotations

import sys
from errno import errorcode
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
from rich_click import RichCommand

from arena.cli.options import format_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.executor.sandbox_trial import TriedRuntime
    from arena.sandbox.tier_grades import Grade

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
    command lists the system calls that the sandbox refused. Most programs work without them.
    """
    if trace is not None:
        _trace(trace, game, form)
        return
    from arena.cli.output import emit, emit_one
    from arena.sandbox.canaries.tier_trial import names_in
    from arena.sandbox.tier import Tier
    from arena.sandbox.tier_grades import run_attacks

    names = names_in(file) if file else {}
    grades = run_attacks([Tier.T1, Tier.T2, Tier.T3])
    rows = _attack_rows(grades)
    if file:
        rows += _own_rows(grades, file, names)
    facts = _collect_facts(grades)
    if form == "table":
        emit("attack", rows, form, {key: key for key in rows[0]})
        _print_facts(facts)
    elif form == "json":
        emit_one("doctor", {**facts._asdict(), "attacks": rows}, form)
    else:
        emit("attack", rows, form, {})


def _trace(spec: str, game: str, form: str) -> None:
    from arena.cli.output import emit, say
    from arena.entrants import resolve
    from arena.errors import BotFailedError, ConfigError
    from arena.executor.preflight import Candidate, describe_fault, preflight
    from arena.referee.timecontrol import TimeControl
    from arena.sandbox.tier import Tier
    from arena.sandbox.tier_grades import default_tier
    from arena.sandbox.trace import Tracer

    tier = default_tier()
    if tier < Tier.T2:
        raise ConfigError(
            f"no system call is refused in tier {tier}, the strongest here; arena doctor says why"
        )
    competitor = resolve([spec], margin_ms=0)[0]
    limit = TimeControl(mode="move", move_ms=_TRACE_MS)
    with Tracer() as tracer:
        fault = preflight(Candidate(competitor, game, limit, tier, _TRACE_MS / 1000), tracer)
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


_NO_TIER = "no tier"


class MachineFacts(NamedTuple):
    """Facts about this machine that are printed next to the attacks."""

    auto: str
    """The tier that `--isolation auto` uses."""
    runtimes: list[dict[str, str]]
    """Programs of this machine that run bots: `runtime`, `program`, `verdict` and `cause`."""
    limits: str
    """Whether the kernel limits memory and tasks (`kernel`) or the arena polls them (`polled`), and why."""
    granted: list[str]
    causes: dict[str, str]
    """The reason why a tier is not available, by tier."""
    cures: dict[str, str]
    """How the user can make a tier available, by tier, where known."""
    kernel: str
    landlock: int
    user: str
    weaknesses: list[str]
    pth: list[str]
    sqlite: str
    single_writer: bool


def _attack_rows(grades: Sequence[Grade]) -> list[dict[str, object]]:
    """Return a row for each attack: its number, its name, and its verdict in each tier."""
    from arena.sandbox.attacks.promises import ATTACKS

    return [
        {
            "attack": attack.number,
            "name": attack.name,
            **{
                grade.tier.value: _NO_TIER
                if grade.cause
                else attack.verdict(grade.tier, worked=attack.number in grade.failed)
                for grade in grades
            },
        }
        for attack in ATTACKS
    ]


def _own_rows(grades: Sequence[Grade], file: Path, names: dict[str, str]) -> list[dict[str, object]]:
    """Try a host's own attacks in each available tier, and return a row for each.

    Args:
        grades: the grades of the tiers.
        file: the Python file with the attacks.
        names: display name of each attack, by its function.
    """
    from arena.sandbox.canaries.tier_trial import try_own

    results = {grade.tier.value: {} if grade.cause else try_own(grade.tier, file, names) for grade in grades}
    return [
        {
            "attack": f"{file.name}:{function}",
            "name": name,
            **{tier: _own_verdict(found, function) for tier, found in results.items()},
        }
        for function, name in names.items()
    ]


def _own_verdict(found: dict[str, bool], function: str) -> str:
    if function not in found:
        return _NO_TIER
    return "WORKS" if found[function] else "blocked"


def _collect_facts(grades: Sequence[Grade]) -> MachineFacts:
    """Return the facts about this machine, from the grades of the tiers T1 to T3."""
    from arena.sandbox.limits.exact import describe_limits
    from arena.sandbox.tier import weaknesses
    from arena.sandbox.tier_grades import cure, default_tier
    from arena_db.backend.sqlite.engine import find_driver

    driver = find_driver()
    causes = {grade.tier.value: cause for grade in grades if (cause := _cause(grade))}
    return MachineFacts(
        auto=default_tier().value,
        runtimes=[tried._asdict() for tried in _tried_runtimes()],
        limits=describe_limits(),
        granted=[grade.tier.value for grade in grades if grade.is_granted],
        causes=causes,
        cures={tier: found for tier, cause in causes.items() if (found := cure(cause))},
        kernel=grades[0].kernel,
        landlock=grades[0].landlock,
        user=_user(next((grade for grade in reversed(grades) if grade.is_granted), grades[0])),
        weaknesses=weaknesses(),
        pth=_pth_files(),
        sqlite=driver.module.sqlite_version,
        single_writer=driver.single_writer,
    )


def _tried_runtimes() -> list[TriedRuntime]:
    """Ask a bot of each runtime for a move; return an empty list if no tier can start processes."""
    from arena.errors import ConfigError
    from arena.executor.sandbox_trial import try_runtimes

    try:
        return try_runtimes()
    except ConfigError:
        return []


def _cause(grade: Grade) -> str:
    """Return why a tier is not granted; empty if it is."""
    if grade.cause or not grade.broken:
        return grade.cause
    numbers = ", ".join(map(str, grade.broken))
    return f"not granted, since it does not keep its promise about these attacks: {numbers}"


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
    """Return the .pth files that run code whenever this Python starts; hosts of bots do not run them."""
    return [
        str(path)
        for folder in dict.fromkeys(sys.path)
        if folder and Path(folder).is_dir()
        for path in sorted(Path(folder).glob("*.pth"))
        if any(
            line.startswith(("import ", "import\t")) for line in path.read_text(errors="replace").splitlines()
        )
    ]


def _print_facts(facts: MachineFacts) -> None:
    """Print the facts as lines of text."""
    from arena.cli.output import say

    say("")
    say(f"tier      {facts.auto} is used by --isolation auto")
    for tier, cause in facts.causes.items():
        say(f"          {tier}: {cause}")
        if tier in facts.cures:
            say(f"              {facts.cures[tier]}")
    tried = "   ".join(f"{each['runtime']} {each['verdict']}" for each in facts.runtimes)
    say(
        f"runtimes  {tried or 'none'}   (each asked for a move in {facts.auto}; starts: only for its version)"
    )
    for each in facts.runtimes:
        if each["cause"]:
            say(f"          {each['program']}: {each['cause']}")
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
