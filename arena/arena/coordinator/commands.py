"""The commands of a coordinator, with their encoding in the store.

A command is a row with a kind and a payload, a JSON object of the other fields. Earlier versions wrote the
same kinds and payloads, so their rows can be read, and their coordinators understand today's commands.

Joining, leaving and voiding are not commands but changes, in force once they are stored, whether or not the
tournament is being run. A take-over is no command either, because the process that it replaces does not
answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from arena_db.records import CommandRecord

_KIND: Final = "kind"


class PauseRun(msgspec.Struct, frozen=True, tag_field=_KIND, tag="pause"):
    """Begin no new match until the run is resumed; running ones are finished and stored."""


class ResumeRun(msgspec.Struct, frozen=True, tag_field=_KIND, tag="resume"):
    """Begin matches again."""


class StopRun(msgspec.Struct, frozen=True, tag_field=_KIND, tag="stop"):
    """Begin no new match, and end when the running ones are stored."""


class AbortRun(msgspec.Struct, frozen=True, tag_field=_KIND, tag="abort"):
    """End at once; running matches are played again when the run is resumed."""


class _AtBoard(msgspec.Struct, frozen=True, kw_only=True, tag_field=_KIND):
    """A person's command, with the position that the person saw; refused if the match has moved on."""

    number: int
    """Number of the match within its tournament."""
    ply: int
    """Number of actions of the match."""


class MakeMove(_AtBoard, frozen=True, kw_only=True, tag="move"):
    """Play an action."""

    action: int


class TakeBack(_AtBoard, frozen=True, kw_only=True, tag="undo"):
    """Undo the person's last move."""


class AskHint(_AtBoard, frozen=True, kw_only=True, tag="hint"):
    """Ask another bot for a move."""


class ResignMatch(_AtBoard, frozen=True, kw_only=True, tag="resign"):
    """Resign the match."""


class NextMatch(_AtBoard, frozen=True, kw_only=True, tag="new"):
    """Begin a new match with sides swapped."""


RunCommand = PauseRun | ResumeRun | StopRun | AbortRun
"""The commands for every run."""
BoardCommand = MakeMove | TakeBack | AskHint | ResignMatch | NextMatch
"""The commands of a person at the board."""
Command = RunCommand | BoardCommand
BOARD_COMMANDS: Final[dict[str, type[TakeBack | AskHint | ResignMatch | NextMatch]]] = {
    "undo": TakeBack,
    "hint": AskHint,
    "resign": ResignMatch,
    "new": NextMatch,
}
"""Commands without an action, by kind."""


def kind_of(command: Command) -> str:
    """Return the kind of a command, which is also shown to people."""
    return str(command.__struct_config__.tag)


def to_row(command: Command) -> tuple[str, str]:
    """Return kind and payload of a command as stored; the payload of a command without fields is empty."""
    values: dict[str, object] = msgspec.to_builtins(command)
    del values[_KIND]
    return kind_of(command), msgspec.json.encode(values).decode() if values else ""


def read_command(row: CommandRecord) -> Command | None:
    """Return the command stored in a row; None if its kind is unknown or its payload is not valid."""
    try:
        values = msgspec.json.decode(row.payload or "{}", type=dict[str, object])
        # The kind has a column of its own, so a payload cannot choose another one.
        return msgspec.convert({**values, _KIND: row.kind}, Command)
    except (msgspec.MsgspecError, RecursionError):
        return None
