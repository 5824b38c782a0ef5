"""The lines about an encounter that other programs parse; changing a byte breaks them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.rating.shares import wilson

if TYPE_CHECKING:
    from arena.rating.encounter import EncounterCounts


def score_line(a: str, b: str, counts: EncounterCounts) -> str:
    """`Score of A vs B: 19 - 13 - 8  [0.575] 40`: wins, losses and draws of `a`."""
    results = f"{counts.wins} - {counts.losses} - {counts.draws}"
    return f"Score of {a} vs {b}: {results}  [{_number(counts.score, 3)}] {counts.num_matches}"


def elo_line(counts: EncounterCounts) -> str:
    """`Elo difference: 46.6 +/- 78.7, LOS: 88.3 %, DrawRatio: 20.0 %`."""
    stats = counts.statistics
    elo = f"{_number(stats.elo, 1)} +/- {_number(stats.elo_error, 1)}"
    return f"Elo difference: {elo}, LOS: {_percent(stats.los)}, DrawRatio: {_percent(counts.draw_ratio)}"


def ptnml_line(counts: EncounterCounts) -> str:
    """`Ptnml(0-2): [1, 2, 10, 4, 3], nElo: 61.7 +/- 101.5, PairsRatio: 2.33, DrawnPairs: 50.0 %`."""
    stats = counts.statistics
    nelo = f"{_number(stats.nelo, 1)} +/- {_number(stats.nelo_error, 1)}"
    ratios = f"PairsRatio: {_number(counts.pairs_ratio, 2)}, DrawnPairs: {_percent(counts.drawn_pairs)}"
    return f"Ptnml(0-2): {list(counts.ptnml)}, nElo: {nelo}, {ratios}"


def unique_line(counts: EncounterCounts) -> str:
    """`Unique: 40 of 40 games, 20 of 20 pairs`."""
    games = f"{counts.num_unique} of {counts.num_matches} games"
    return f"Unique: {games}, {counts.num_unique_pairs} of {counts.num_pairs} pairs"


def verdict_line(a: str, b: str, counts: EncounterCounts) -> str:
    """`A is stronger than B by 101 Elo (95 %: 58 to 150)`, the stronger bot first, or that neither is."""
    stats = counts.statistics
    elo, low, high = stats.elo, stats.elo_low, stats.elo_high
    if stats.is_separated and elo < 0:
        a, b, elo, low, high = b, a, -elo, -high, -low
    gap = f"{_number(elo, 0)} Elo (95 %: {_number(low, 0)} to {_number(high, 0)})"
    if stats.is_separated:
        return f"{a} is stronger than {b} by {gap}"
    return f"{a} and {b} are not separated: {a} - {b} = {gap}"


def encounter_lines(a: str, b: str, counts: EncounterCounts) -> list[str]:
    """All lines about an encounter in their order; without complete pairs there is no `Ptnml` line."""
    ptnml = [ptnml_line(counts)] if counts.num_pairs else []
    return [
        score_line(a, b, counts),
        elo_line(counts),
        *ptnml,
        unique_line(counts),
        verdict_line(a, b, counts),
    ]


def side_lines(a: str, counts: EncounterCounts) -> list[str]:
    """`A moving first: 11 - 5 - 4  [0.650] 20, wins 55.0 % (95 %: 34.2 to 74.2)`, and moving second.

    Wins, losses and draws, the score, the matches, and the share of wins with its interval (Wilson, 1927).
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
    """A number without negative zero; `-` where it is undefined."""
    return "-" if value is None else f"{value:z.{digits}f}"


def _percent(share: float | None) -> str:
    """A share as `20.0 %`; `-` where it is undefined."""
    return "-" if share is None else f"{_number(100 * share, 1)} %"
