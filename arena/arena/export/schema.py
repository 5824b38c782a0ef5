"""The columns of exported positions: one row per position in which an action followed."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

SCHEMA_VERSION: Final = 1
"""Version of the columns; incremented when a column changes its name, type or meaning."""

TRAIN: Final = "train"
VALIDATION: Final = "validation"

Kind = Literal["uint8", "int8", "int32", "int64", "float32", "words", "policy", "text"]
"""`words`: 64-bit words, `[n, words]`; `policy`: float16 `[n, num_actions]`; each is one column."""


class Column(NamedTuple):
    """One column."""

    name: str
    kind: Kind
    text: str
    """A description of the column's content."""
    nullable: bool = False
    """Whether a row may lack a value; NaN in formats without null."""


def _of_bot(name: str, who: str) -> tuple[Column, ...]:
    return (
        Column(name, "text", f"identity of the bot {who}: SHA-256 in hex over all it is made of"),
        Column(f"{name}_version", "text", "version of its distribution"),
        Column(
            f"{name}_weights",
            "text",
            "SHA-256 of its weights and the files its options name; empty where it has none",
        ),
        Column(
            f"{name}_elo",
            "float32",
            "its rating in the pool of the match when it was exported",
            nullable=True,
        ),
    )


COLUMNS: Final[tuple[Column, ...]] = (
    Column("schema_version", "uint8", "version of this table"),
    Column("match_id", "int64", "number of the match in the store"),
    Column(
        "match_hash", "text", "SHA-256 in hex, equal for equal matches, mirrored and turned ones included"
    ),
    Column("game", "text", "spec of the game"),
    Column("ply", "int32", "actions before this position"),
    Column("player", "int8", "who moves: 0 first, 1 second"),
    Column("own", "words", "stones of the side to move: bit i is cell i, row 0 on top"),
    Column("opp", "words", "stones of the other side"),
    Column("legal", "words", "legal actions: bit a is action a"),
    Column("action", "int32", "what was played"),
    Column("policy", "policy", "what the bot to move said of each action; sums to 1", nullable=True),
    Column("value", "float32", "outcome for the side to move: -1, 0, 1; a mean after --dedup"),
    Column("root_value", "float32", "what the bot to move claimed to expect, in [-1, 1]", nullable=True),
    Column("solver_value", "float32", "outcome under best play for the side to move", nullable=True),
    Column("plies_to_end", "int32", "actions from here to the end, that of this row included"),
    *_of_bot("bot", "to move"),
    *_of_bot("opponent", "on the other side"),
    Column("tournament", "text", "its name"),
    Column("played_at", "int64", "when the match began, UTC milliseconds"),
    Column("termination", "text", "why the match ended"),
    Column("opening", "text", "moves that were given, by single blanks; they have no policy"),
    Column("split", "text", "train or validation"),
    Column("count", "int32", "positions this row stands for: 1 without --dedup"),
)
"""All columns, in order."""
