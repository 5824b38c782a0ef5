"""Commands have one type, which is read from rows of every version."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import pytest

from arena.coordinator.commands import (
    AbortRun,
    AskHint,
    BoardCommand,
    Command,
    MakeMove,
    NextMatch,
    PauseRun,
    ResignMatch,
    ResumeRun,
    RunCommand,
    StopRun,
    TakeBack,
    kind_of,
    read_command,
    to_row,
)
from arena_db.models import COMMAND_KINDS
from arena_db.records import CommandRecord
from arena_db.store import Store
from stores import add_cup

if TYPE_CHECKING:
    from pathlib import Path

ALL: tuple[Command, ...] = (
    PauseRun(),
    ResumeRun(),
    StopRun(),
    AbortRun(),
    MakeMove(number=2, ply=5, action=8),
    TakeBack(number=1, ply=0),
    AskHint(number=1, ply=1),
    ResignMatch(number=3, ply=7),
    NextMatch(number=4, ply=9),
)


def row(kind: str, payload: str = "") -> CommandRecord:
    return CommandRecord(
        id=1,
        tournament=1,
        kind=kind,
        payload=payload,
        asked_at=1.0,
        taken_at=None,
        answered_at=None,
        answer="",
    )


def test_every_kind_of_the_store_is_a_command_and_comes_back(tmp_path: Path) -> None:
    assert {type(command) for command in ALL} == {*get_args(RunCommand), *get_args(BoardCommand)}
    assert [kind_of(command) for command in ALL] == list(COMMAND_KINDS)
    with Store.open(tmp_path / "a.db") as store:
        cup = add_cup(store).record.id
        for command in ALL:
            store.commands.send(cup, *to_row(command))
        assert [read_command(taken) for taken in store.commands.take(cup)] == list(ALL)


@pytest.mark.parametrize(
    ("kind", "payload", "command"),
    [
        ("stop", "", StopRun()),
        ("pause", '{"of": "pause"}', PauseRun()),
        ("move", '{"number":2,"ply":5,"action":8}', MakeMove(number=2, ply=5, action=8)),
        ("undo", '{"number":1,"ply":0,"action":null}', TakeBack(number=1, ply=0)),
        ("hint", '{"number":1,"ply":1,"action":null}', AskHint(number=1, ply=1)),
        ("resign", '{"number":3,"ply":7,"action":null}', ResignMatch(number=3, ply=7)),
        ("new", '{"number":4,"ply":9,"action":null}', NextMatch(number=4, ply=9)),
        ("stop", '{"kind": "abort"}', StopRun()),
    ],
)
def test_rows_of_earlier_versions_are_read(kind: str, payload: str, command: Command) -> None:
    assert read_command(row(kind, payload)) == command


def test_rows_are_those_that_earlier_versions_read() -> None:
    assert to_row(StopRun()) == ("stop", "")
    assert to_row(MakeMove(number=2, ply=5, action=8)) == ("move", '{"number":2,"ply":5,"action":8}')
    assert to_row(AskHint(number=1, ply=1)) == ("hint", '{"number":1,"ply":1}')


@pytest.mark.parametrize(
    "payload",
    [
        "",
        "[]",
        "5",
        '{"number": 1}',
        '{"number": "1", "ply": 0}',
        '{"number":1,"ply":0,"action":null}',
        "[" * 4000,
        '{"number":' * 4000,
    ],
)
def test_a_move_that_cannot_be_read(payload: str) -> None:
    assert read_command(row("move", payload)) is None


def test_a_kind_of_a_later_version_cannot_be_read() -> None:
    assert read_command(row("dance")) is None
