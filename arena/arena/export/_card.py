"""The data card: a description of an export in words, for people who find the folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.export.schema import COLUMNS
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from arena.export._manifest import Manifest

NAME = "README.md"
_CELL = 200
"""Maximum number of characters written of a table cell."""


def write_card(folder: Path, manifest: Manifest) -> None:
    """Write the data card into the folder."""
    parts = (_head(manifest), _splits(manifest), _bots(manifest), _columns(), _rest(manifest))
    (folder / NAME).write_text("\n".join("\n".join(part) for part in parts) + "\n", encoding="utf-8")


def _head(manifest: Manifest) -> list[str]:
    matches = sum(part.num_matches for part in manifest.splits.values())
    positions = sum(part.num_positions for part in manifest.splits.values())
    unique = manifest.num_unique_matches
    asked = ", ".join(f"`--{name} {value}`" for name, value in manifest.query.items()) or "all rated matches"
    return [
        f"# Positions of {_clean(manifest.game.spec)}",
        "",
        f"{_number(positions)} positions of {_number(matches)} stored matches, written by `arena export`.",
        f"Asked for: {_clean(asked)}. Each row is a position in which an action followed.",
        "",
        (
            f"- different matches (mirrored and turned ones count as one): {_number(unique)} of"
            f" {_number(matches)}{_percent(unique, matches)}"
        ),
        f"- equal positions merged (`--dedup`): {_yes(is_so=manifest.dedup)}",
        "",
    ]


def _splits(manifest: Manifest) -> list[str]:
    rows = [
        (
            name,
            _number(part.num_matches),
            _number(part.num_positions),
            _number(part.num_distinct),
            _number(part.num_rows),
            ", ".join(f"{kind} {_number(num)}" for kind, num in part.terminations.items()) or "-",
        )
        for name, part in manifest.splits.items()
    ]
    lines = ["## Splits", ""]
    lines += _table(("split", "matches", "positions", "distinct", "rows", "ended by"), rows)
    lines.append("")
    if manifest.split is None:
        return [*lines, "Nothing was set apart for validation.", ""]
    overlap, positions = manifest.overlap, manifest.splits["validation"].num_positions
    return [
        *lines,
        f"A match is for training with probability {manifest.split.fraction:g}, by SHA-256 of the salt",
        f"`{_clean(manifest.split.salt)}` and its hash: equal matches, mirrored ones too, lie together.",
        f"{_number(overlap.num_positions)} validation positions{_percent(overlap.num_positions, positions)},",
        f"{_number(overlap.num_distinct)} distinct ones, occur in training, too;",
        f"they were {'left out' if overlap.is_dropped else 'kept (`--disjoint` leaves them out)'}.",
        "",
    ]


def _bots(manifest: Manifest) -> list[str]:
    rows = [
        (
            bot.spec,
            bot.version,
            bot.pool,
            "-" if bot.elo is None else f"{bot.elo:.1f}",
            bot.identity[:12],
            bot.weights[:12] or "-",
        )
        for bot in manifest.bots
    ]
    return [
        "## Bots and their limits",
        "",
        *_table(("bot", "version", "limit, and how it was run", "Elo", "identity", "weights"), rows),
        "",
        f"Tournaments: {', '.join(_clean(each.name) for each in manifest.tournaments)}.",
        "",
    ]


def _columns() -> list[str]:
    rows = [
        (column.name, column.kind, column.text + (" (may be missing)" if column.nullable else ""))
        for column in COLUMNS
    ]
    return ["## Columns", "", *_table(("column", "type", "holds"), rows), ""]


def _rest(manifest: Manifest) -> list[str]:
    written = ", ".join(f"{name} {version}" for name, version in manifest.versions.items())
    return [
        "## Licence",
        "",
        "None is attached: the matches belong to whoever held the tournaments. Ask them, and the authors of",
        "the bots, before you publish this.",
        "",
        f"`manifest.json` has the SHA-256 of every file. Written with {_clean(written)}.",
    ]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines]


def _cell(text: str) -> str:
    return _clean(text).replace("|", "\\|")


def _clean(text: str) -> str:
    return clean_text(text, _CELL)


def _number(number: int) -> str:
    return f"{number:,}"


def _percent(part: int, whole: int) -> str:
    return f" ({100 * part / whole:.1f} %)" if whole else ""


def _yes(*, is_so: bool) -> str:
    return "yes" if is_so else "no"
