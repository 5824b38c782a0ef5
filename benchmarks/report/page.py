"""Writes docs/benchmarks.md, its pictures and the record of the ratios."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from report.commands import CLONED, COMMANDS, PEERS
from report.measured import recorded
from report.plot import Bar, draw
from report.rows import ROWS
from report.running import arguments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from report.measured import Measured
    from report.running import Installed

BEGIN, END = "<!-- generated: begin -->", "<!-- generated: end -->"
PAGE, RECORD = "benchmarks.md", "benchmarks.json"
RATIOS, GAMES = "benchmarks-ratios.svg", "benchmarks-games.svg"
HEAD = ("figure", "compared with", "ours", "theirs", "target", "ratio", "script")


class Circumstances(NamedTuple):
    """The circumstances of a run that its readers must know."""

    date: str
    trials: int
    loads: tuple[float, float]
    """Load of the machine before and after the run."""
    machine: Mapping[str, str]
    versions: Mapping[str, str]
    peers: Mapping[str, Installed]
    quick: bool


def write(folder: Path, measured: Sequence[Measured], about: Circumstances) -> None:
    """Write page, pictures and record into `folder`; an existing page keeps what is outside the markers."""
    page = folder / PAGE
    text = page.read_text(encoding="utf-8") if page.exists() else f"# Benchmarks\n\n{BEGIN}\n{END}\n"
    before, found, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (found and ended):
        raise SystemExit(f"{page} lacks the lines {BEGIN} and {END}; put them where the tables belong")
    bars = _ratio_bars(measured)
    names = [RATIOS] if bars else []
    if bars:
        note = "Medians on a logarithmic scale; lines show the spread, red marks show targets."
        (folder / RATIOS).write_text(draw("Times as fast as its peer", note, bars, base=1), encoding="utf-8")
    if games := _game_bars(measured):
        note = "Matches of Connect Four a second on one core; a logarithmic scale."
        (folder / GAMES).write_text(draw("Random bot against random bot", note, games), encoding="utf-8")
        names.append(GAMES)
    body = generated(measured, about, names)
    page.write_text(f"{before}{BEGIN}\n\n{body}\n{END}{after}", encoding="utf-8")
    record = {"date": about.date, "machine": about.machine, "rows": recorded(measured)}
    (folder / RECORD).write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_record(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the recorded rows in `folder` by key; empty if there is no record."""
    path = folder / RECORD
    return json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else {}


def generated(measured: Sequence[Measured], about: Circumstances, pictures: Sequence[str]) -> str:
    """Return the text between the markers."""
    parts = [
        *(f"![{_alt(name)}]({name})\n" for name in pictures),
        table(measured),
        "",
        *_left_out(measured),
        "",
        *_circumstances(about),
        "",
        "The commands:",
        "",
        *_commands(about),
        "",
    ]
    return "\n".join(parts)


def _left_out(measured: Sequence[Measured]) -> list[str]:
    here = {one.row.key for one in measured}
    absent = [row.point for row in ROWS if row.key not in here]
    return [f"Not available on this machine: {', '.join(absent)}."] if absent else []


def table(measured: Sequence[Measured]) -> str:
    """Return the table of all rows that were measured."""
    lines = [" | ".join(HEAD), " | ".join(["---"] * len(HEAD))]
    lines += [" | ".join(_cells(one)) for one in measured]
    return "\n".join(f"| {line} |" for line in lines)


def _cells(one: Measured) -> tuple[str, ...]:
    row = one.row
    ratio = f"{_plain(one.ratio)}x" if one.ratio else ""
    if one.least and one.most and one.least != one.most:
        ratio += f" ({_plain(one.least)} to {_plain(one.most)})"
    if one.verdict is False:
        ratio += " **missed**"
    return (
        row.point,
        row.peer,
        f"{_plain(one.ours or 0)} {row.unit}",
        f"{_plain(one.theirs)} {row.unit}" if one.theirs else "",
        _asked(one),
        ratio.strip(),
        f"`{(row.ratio or row.ours).script}`",
    )


def _asked(one: Measured) -> str:
    row = one.row
    parts = [f"≥ {_plain(row.asked)}x"] if row.asked is not None else []
    parts += [f"≥ {_plain(row.least)} {row.unit}"] if row.least is not None else []
    parts += [f"≤ {_plain(row.most)} {row.unit}"] if row.most is not None else []
    return ", ".join(parts)


def _plain(value: float) -> str:
    """Format a figure with three significant digits and all its zeros."""
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if rounded >= 100 else f"{rounded:g}"  # noqa: PLR2004 - three digits


def _circumstances(about: Circumstances) -> list[str]:
    machine, loads = about.machine, about.loads
    found = [f"{PEERS[name][0]} {peer.version}" for name, peer in about.peers.items()]
    own = ", ".join(f"{name} {version}" for name, version in about.versions.items())
    lines = [
        f"Measured on {about.date}; medians of up to {about.trials} trials, in brackets the extremes.",
        f"Machine: {machine['cores']} cores of {machine['processor']},",
        f"{machine['system']}, {machine['python']}.",
        f"Load: {loads[0]:g} at the beginning, {loads[1]:g} at the end; {machine['cores']} is a full load.",
        f"Ours: {own}. Peers: {', '.join(found) or 'none'}.",
    ]
    if missing := [name for module, (name, _) in PEERS.items() if module not in about.peers]:
        lines.append(f"Not installed, so not measured: {', '.join(missing)}.")
    if about.quick:
        lines.append("**A quick run, which shows that all works and no more.**")
    return lines


def _commands(about: Circumstances) -> list[str]:
    """Return the commands of the run, with our interpreter as `python`, the others named after their peer."""
    names = {sys.executable: sys.executable}
    for module, peer in about.peers.items():
        kind = "CLONE_OF" if module == CLONED else "PYTHON_WITH"
        names.setdefault(peer.python, f"{kind}_{module.upper()}")
    pythons = {module: names[peer.python] for module, peer in about.peers.items()}
    told = [" ".join(arguments(command, pythons, quick=about.quick)) for command in COMMANDS]
    return [
        f"- `python benchmarks/{command.script} {text}`" for command, text in zip(COMMANDS, told, strict=True)
    ]


def _ratio_bars(measured: Sequence[Measured]) -> list[Bar]:
    return [
        Bar(
            one.row.point,
            f"beside {one.row.peer}".replace("`", ""),
            one.ratio,
            "low" if one.row.asked is not None and one.ratio < one.row.asked else "own",
            one.least,
            one.most,
            one.row.asked,
        )
        for one in measured
        if one.ratio
    ]


def _game_bars(measured: Sequence[Measured]) -> list[Bar]:
    """Return a bar for each contestant that plays random matches of Connect Four, the slowest first."""
    own = {"refereed/connect-four/": "arena, refereed", "bulk/": "arena, compiled"}
    speeds: dict[tuple[str, str], float] = {}
    for start, name in own.items():
        for one in measured:
            if one.row.key.startswith(start):
                speeds |= {(name, "own"): one.ours or 0, (one.row.peer, "bar"): one.theirs or 0}
    bars = [Bar(name, "", speed, kind) for (name, kind), speed in speeds.items() if speed]
    return sorted(bars, key=lambda bar: bar.value)


def _alt(name: str) -> str:
    return "Times as fast as its peer" if name == RATIOS else "Matches of Connect Four a second"
