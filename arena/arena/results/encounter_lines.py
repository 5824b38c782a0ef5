"""The lines about an encounter, which other programs parse; a changed byte breaks them."""

from __future__ import annotations

from math import inf, isfinite
from typing import TYPE_CHECKING

from arena.rating.shares import wilson

if TYPE_CHECKING:
    from arena.rating.ratings import Gap
    from arena.results.counts import EncounterCounts, HeadToHead


def score_line(a: str, b: str, counts: EncounterCounts) -> str:
    """Return `Score of A vs B: 19 - 13 - 8  [0.575] 40`: wins, losses and draws of `a`."""
    results = f"{counts.wins} - {counts.losses} - {counts.draws}"
    return f"Score of {a} vs {b}: {results}  [{_number(counts.score, 3)}] {counts.num_matches}"


def elo_line(met: HeadToHead) -> str:
    """Return `Elo difference: 51.8 +/- 84.9, LOS: 89.3 %, DrawRatio: 20.0 %`."""
    elo = f"{_number(met.gap.elo, 1)} +/- {_number(met.gap.error, 1)}"
    return (
        f"Elo difference: {elo}, LOS: {_percent(met.gap.los)}, DrawRatio: {_percent(met.counts.draw_ratio)}"
    )


def ptnml_line(counts: EncounterCounts) -> str:
    """Return `Ptnml(0-2): [1, 2, 10, 4, 3], nElo: 61.7 +/- 101.5, PairsRatio: 2.33, DrawnPairs: 50.0 %`."""
    nelo, error = (_number(value, 1) for value in counts.normalized)
    ratios = f"PairsRatio: {_number(counts.pairs_ratio, 2)}, DrawnPairs: {_percent(counts.drawn_pairs)}"
    return f"Ptnml(0-2): {list(counts.ptnml)}, nElo: {nelo} +/- {error}, {ratios}"


def verdict_line(a: str, b: str, gap: Gap) -> str:
    """Return `A is stronger than B by 101 Elo (95 %: 58 to 150)`, or that the two are not separated."""
    if gap.is_separated and gap.high < 0:
        a, b, gap = b, a, gap.reversed()
    if gap.is_separated:
        return f"{a} is stronger than {b} by {say_gap(gap)}"
    return f"{a} and {b} are not separated: {a} - {b} = {say_gap(gap)}"


def look_line(look: int, gap: Gap) -> str:
    """Return the reason for a stricter level: these results were read before."""
    share = f"{100 * (1 - gap.level):.3g} %"
    return f"Look {look} at results that grow is judged at {share}; arena test plays until it is decided"


def say_gap(gap: Gap) -> str:
    """Return `101 Elo (95 %: 58 to 150)`, or `at least +399 Elo (95 %)` if one side is unbounded."""
    share = f"{100 * (1 - gap.level):.3g} %"
    if gap.is_bounded:
        return f"{_number(gap.elo, 0)} Elo ({share}: {_number(gap.low, 0)} to {_number(gap.high, 0)})"
    if gap.low > -inf:
        return f"at least {gap.low:+z.0f} Elo ({share})"
    if gap.high < inf:
        return f"at most {gap.high:+z.0f} Elo ({share})"
    return "unknown"


def encounter_lines(a: str, b: str, met: HeadToHead) -> list[str]:
    """Return all lines about an encounter; the `Ptnml` line needs complete pairs."""
    counts = met.counts
    ptnml = [ptnml_line(counts)] if counts.num_pairs else []
    again = [look_line(met.look, met.verdict)] if met.look > 1 else []
    return [
        score_line(a, b, counts),
        elo_line(met),
        *ptnml,
        f"Evidence: {counts.evidence}",
        verdict_line(a, b, met.verdict),
        *again,
    ]


def side_lines(a: str, counts: EncounterCounts) -> list[str]:
    """Return `A moving first: 11 - 5 - 4  [0.650] 20, wins 55.0 % (95 %: 34.2 to 74.2)`, and moving second.

    Wins, losses and draws, score, matches, and the share of wins with its interval (Wilson, 1927).
    """
    lines: list[str] = []
    for name, (wins, draws, losses) in (("first", counts.moving_first), ("second", counts.moving_second)):
        if total := wins + draws + losses:
            low, high = wilson(wins, total)
            score = _number((wins + draws / 2) / total, 3)
            share = f"wins {_percent(wins / total)} (95 %: {_number(low, 1)} to {_number(high, 1)})"
            lines.append(f"{a} moving {name}: {wins} - {losses} - {draws}  [{score}] {total}, {share}")
    return lines


def _number(value: float | None, digits: int) -> str:
    """Format a number without negative zero; `-` if it is undefined or infinite."""
    return "-" if value is None or not isfinite(value) else f"{value:z.{digits}f}"


def _percent(share: float | None) -> str:
    """Format a share as `20.0 %`; `-` if it is undefined."""
    return "-" if share is None else f"{_number(100 * share, 1)} %"
