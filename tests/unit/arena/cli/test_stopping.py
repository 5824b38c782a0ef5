"""`arena stop` from another shell, also if the process that holds the tournament is silent."""

from __future__ import annotations

import os
import re
import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from arena_db.errors import LeaseLostError
from arena_db.owner import current_owner
from arena_db.store import Store
from command_line import FAST, CommandLine
from stores import add_cup, tamper

if TYPE_CHECKING:
    from collections.abc import Generator

DUEL = ("match", "minimax:depth=2", "random", *FAST, "--srand", 3)


@contextmanager
def _answering(store: Store, tournament: int) -> Generator[list[str]]:
    """Answer commands to a tournament, as its coordinator does; yield the kinds of the commands."""
    kinds: list[str] = []
    ended = threading.Event()
    held = store.claim(tournament, current_owner())
    assert held is not None

    def answer() -> None:
        while not ended.wait(0.01):
            for command in held.commands.take(tournament):
                kinds.append(command.kind)
                held.commands.answer(command.id, f"yes, {command.kind}")

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield kinds
    finally:
        ended.set()
        thread.join()
        held.leases.release()


def test_stop_waits_for_the_answer_of_whoever_runs_it(arena: CommandLine) -> None:
    with Store.open(arena.db) as store:
        running = add_cup(store, name="cup").record
        add_cup(store, name="done")
        store.tournaments.set_state(2, "finished")
        assert arena("stop", "cup").stderr == "cup is not being run; arena resume cup continues it\n"
        with _answering(store, running.id) as kinds:
            told = arena("stop", "cup").stdout
            arena("stop", "--now")
        assert told == "asked cup to stop: yes, stop; to continue later: arena resume cup\n"
        assert kinds == ["stop", "abort"]
        assert arena("stop", "done").stderr == "done is finished; nothing is running\n"
        assert store.commands.take(2) == []


def test_a_silent_holder_is_named_and_can_be_replaced(
    arena: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena.coordinator.client.ANSWER_S", 0.0)
    arena(*DUEL, "--rounds", 4, "--name", "cup", "--max-time", "0.000001", status=3)
    with Store.open(arena.db) as store:
        held = store.claim(1, replace(current_owner(), uuid="other"))
        assert held is not None
        held.tournaments.set_state(1, "running")
        told = arena("stop", "cup").stdout
        assert "asked cup to stop: no answer yet from pid " in told
        assert (
            "; --take-over replaces it after 30 s of silence"
            in arena("resume", "cup", "--take-over", status=2).stderr
        )
        tamper(store.path, "UPDATE leases SET beat_at = beat_at - 720")
        way = r"cup is held by pid \d+ on \S+, silent for 12 min; arena resume cup --take-over continues"
        assert re.search(way, arena("stop", "cup", status=1).stderr)
        assert re.search(way, arena("resume", "cup", status=2).stderr)
        assert re.search(r"  silent\nheld by pid \d+ on \S+, silent for 12 min", arena("show", "cup").stdout)
        holder = cast("dict[str, Any]", arena.objects("show", "cup")[0]["holder"])
        assert (holder["pid"], holder["is_silent"]) == (os.getpid(), True)
        assert holder["silent_s"] >= 720
        arena("resume", "cup", "--take-over", "--quiet")
        assert arena.objects("show", "cup")[0]["holder"] is None
        with pytest.raises(LeaseLostError, match="cup was taken over by another process"):
            held.tournaments.set_state(1, "stopped")
        record = store.tournaments.find(1)
        assert record is not None
        assert (record.state, record.num_done) == ("finished", record.num_planned)
