"""Matches of a person in this process: the real coordinator in a thread, against a predictable bot."""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from arena.coordinator.client import Link
from arena.coordinator.lease import Lease
from arena.coordinator.stop import StopSignals
from arena.person.play_session import Play, planned_match
from arena.person.session_config import BOT_SEAT, PERSON_SEAT, PlayConfig, make_play
from arena.person.sessions import run_session, store_play
from arena.referee.inprocess import InProcessSeat
from arena.sandbox.tier import Tier
from arena_db.owner import current_owner
from arena_db.store import Store
from arena_plugins import PlayResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from arena.coordinator.commands import Command
    from arena_db.records import LiveEvent, StoredMatch, TournamentRecord
    from arena_plugins import Game, Limit, State

DEADLINE_S = 60.0


class FirstLegal:
    """Plays the first legal action, and reports a good evaluation; waits for `gate` before each answer."""

    def __init__(self, gate: threading.Event | None = None) -> None:
        self._gate = gate

    def play(self, state: State, limit: Limit) -> PlayResult:
        """Return the first legal action."""
        del limit
        if self._gate is not None:
            assert self._gate.wait(DEADLINE_S)
        action = state.legal_actions[0]
        return PlayResult(action=action, value=0.5, visits={action: 7}, policy={action: 1.0})

    def new_match(self, seed: int) -> None:
        """Start a new match."""


def config(**changes: Any) -> PlayConfig:  # noqa: ANN401 - values of any option
    """Return the configuration of a tic-tac-toe match; its bot is `FirstLegal`, whatever its name."""
    usual: dict[str, Any] = {
        "bot": "random",
        "game": "tic-tac-toe",
        "srand": 7,
        "isolation": "none",
        "st": 30.0,
    }
    return PlayConfig(**(usual | changes))


class Played:
    """A person's matches in a store of its own, with their coordinator in a thread."""

    def __init__(self, path: Path, settings: PlayConfig, gate: threading.Event | None = None) -> None:
        self.path = path
        self.signals = StopSignals()
        """Commands it has received; an `abort` ends the coordinator."""
        self.error: BaseException | None = None
        self._store = Store.open(path)
        self._plan = make_play(settings)
        first = PERSON_SEAT if settings.side == "first" else BOT_SEAT
        self._match = planned_match(1, first, settings.opening)
        self.record: TournamentRecord = store_play(self._store, self._plan, Tier.T0, self._match)

        def make(game: Game, seed: int) -> FirstLegal:
            del game, seed
            return FirstLegal(gate)

        self._bot = InProcessSeat(make, name="random", version="")
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        # A command sent before the run begins is refused.
        wait_for(lambda: not self.is_alive or self.events("started"))

    @property
    def is_alive(self) -> bool:
        """Whether the coordinator is running."""
        return self._thread.is_alive()

    def ask(self, kind: str, number: int = 1, ply: int = 0, action: int | None = None) -> str:
        """Send a command and return its answer."""
        payload = json.dumps({"number": number, "ply": ply, "action": action})
        with Store.open(self.path, read_only=True) as store:
            command = store.commands.send(self.record.id, kind, payload)
            return wait_for(
                lambda: (found := store.commands.find(command)) and found.answered_at and found.answer
            )

    def move(self, action: int, number: int = 1) -> str:
        """Play an action as soon as it is the person's turn, and wait until it was published."""
        ply = wait_for(lambda: self._turn(number)) - 1
        answer = self.ask("move", number, ply, action)
        if answer == "played":
            wait_for(lambda: any(event.ply > ply for event in self.events("move", number)))
        return answer

    def events(self, kind: str, number: int | None = None) -> list[LiveEvent]:
        """Return the published events of one kind."""
        with Store.open(self.path, read_only=True) as store:
            page = store.events.after(0, 10_000, tournament=self.record.id)
        return [e for e in page.events if e.kind == kind and number in (None, e.number)]

    def matches(self) -> list[StoredMatch]:
        """Return the stored matches, by number."""
        with Store.open(self.path, read_only=True) as store:
            return list(store.matches.of_tournament(self.record.id))

    def await_matches(self, num: int) -> list[StoredMatch]:
        """Wait until so many matches are stored."""
        return wait_for(lambda: found if len(found := self.matches()) >= num else None)

    def close(self) -> None:
        """End the coordinator; an exception of its thread is raised here."""
        self.signals.request = "abort"
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive()
        if self.error is not None:
            raise self.error

    def _turn(self, number: int) -> int | None:
        """Return the ply after which it is the person's turn, plus one."""
        started = self.events("started", number)
        if not started:
            return None
        plies = [event.ply for event in self.events("move", number)]
        with Store.open(self.path, read_only=True) as store:
            (match,) = [match for match in store.plans.planned(self.record.id) if match.number == number]
        ply = max(plies, default=len(match.opening))
        person = 0 if match.first == PERSON_SEAT else 1
        return ply + 1 if ply % 2 == person else None

    def _run(self) -> None:
        try:
            with self._store, Lease(self._store, self.record, current_owner()) as lease:
                play = Play(lease.store, self.record, self._plan, Tier.T0)
                run_session(play, self._bot, lease, self.signals, self._match)
        except BaseException as error:  # noqa: BLE001 - it is raised where the test ends
            self.error = error


class LocalLink(Link):
    """A link to a coordinator of this process."""

    def __init__(self, path: Path, settings: PlayConfig, gate: threading.Event | None = None) -> None:
        super().__init__(str(path), [])
        self.path = path
        self.settings = settings
        self.gate = gate
        self.hold = threading.Event()
        """Unless this is set, no command gets through."""
        self.hold.set()
        self.played: list[Played] = []

    @property
    @override
    def is_alive(self) -> bool:
        return bool(self.played) and self.played[-1].is_alive

    @override
    def begin(self, is_wanted: Callable[[], bool] = lambda: True) -> TournamentRecord:
        del is_wanted
        self.played.append(Played(self.path, self.settings, self.gate))
        self.record = self.played[-1].record
        return self.record

    @override
    def ask(self, command: Command, is_wanted: Callable[[], bool] = lambda: True) -> str:
        assert self.hold.wait(DEADLINE_S)
        return super().ask(command, is_wanted)

    def close(self) -> None:
        """Close everything."""
        if self.gate is not None:
            self.gate.set()
        for played in self.played:
            played.close()


def wait_for(look: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever is waited for
    """Poll until there is a value; return it."""
    end, never = time.monotonic() + DEADLINE_S, threading.Event()
    while not (found := look()):
        assert time.monotonic() < end
        never.wait(0.01)
    return found


def moves_to(game: Game, outcome: Sequence[float], person: int) -> list[int]:
    """Return the actions with which a person reaches `outcome` (both returns) against `FirstLegal`."""
    found = _search(game.initial_state(), tuple(outcome), person)
    assert found is not None
    return found


def _search(state: State, outcome: tuple[float, ...], person: int) -> list[int] | None:
    if state.is_terminal:
        return [] if tuple(state.returns) == outcome else None
    if state.current_player != person:
        return _search(state.child(state.legal_actions[0]), outcome, person)
    for action in state.legal_actions:
        rest = _search(state.child(action), outcome, person)
        if rest is not None:
            return [action, *rest]
    return None
