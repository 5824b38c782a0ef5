"""Payloads are stored and read back; large ones are shortened without becoming wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.errors import ProtocolError
from arena.live.events import (
    BODIES,
    MAX_PAYLOAD,
    EntrantChange,
    Event,
    Fault,
    Finished,
    Move,
    RunState,
    Started,
    ThinkingInfo,
    Voided,
    kind_of,
    make_event,
    pack,
    unpack,
)

if TYPE_CHECKING:
    from arena.live.events import Payload

EXAMPLES = (
    Started(bots=("az", "mcts"), game="connect-four", opening=(3, 3), tc="10+0.1"),
    Move(action=3, elapsed_ms=900, value=0.42, visits=((3, 614), (2, 9)), policy=((3, 1.0),), pv=(3, 2)),
    ThinkingInfo(value=-0.1, nodes=1051, depth=9, text="thinking"),
    Finished(outcome="first", termination="rules", reason="X wins", plies=9, stored=313),
    Fault(player=1, termination="time_game", text="late by 12 ms"),
    RunState(state="running", planned=600, done=312, name="rr-42", rate=7.8),
    Voided(num=1, match=3, reason="it was helped"),
    EntrantChange(bot="az", change="leave", reason="it crashes"),
)


@pytest.mark.parametrize("body", EXAMPLES, ids=kind_of)
def test_what_is_packed_is_read_back(body: Payload) -> None:
    event = Event(seq=1, tournament=1, match=1, kind=kind_of(body), payload=unpack(pack(body)), t=0.0)
    assert event.body() == body
    assert make_event(1, body, t=0.0, match=1).body() == body


def test_every_kind_has_an_example() -> None:
    assert {kind_of(body) for body in EXAMPLES} == set(BODIES)


def test_unknown_keys_are_left_to_newer_viewers() -> None:
    payload = unpack('{"action":3,"mood":"fine"}')
    assert Event(seq=1, tournament=1, kind="move", payload=payload, t=0.0).body() == Move(action=3)


@pytest.mark.parametrize("text", ["[1]", "{", '"x"', "nonsense"])
def test_a_payload_that_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(ProtocolError, match="cannot be read"):
        unpack(text)


def test_a_large_board_keeps_its_main_actions() -> None:
    visits = tuple((action, 100_000 + action) for action in range(676))
    policy = tuple((action, action / 228_150) for action in range(676))
    text = pack(Move(action=5, elapsed_ms=7, value=0.123456789, visits=visits, policy=policy))
    assert len(text) <= MAX_PAYLOAD
    body = Event(seq=1, tournament=1, kind="move", payload=unpack(text), t=0.0).body()
    assert isinstance(body, Move)
    assert (body.action, body.elapsed_ms, body.value) == (5, 7, 0.123456789)
    assert body.visits == visits[-100:]
    assert body.policy == tuple((action, round(share, 4)) for action, share in policy[-100:])


def test_what_cannot_be_shortened_is_refused() -> None:
    with pytest.raises(ProtocolError, match="is too long"):
        pack(Fault(text="x" * MAX_PAYLOAD))
    assert len(pack(Move(action=1, text="x" * MAX_PAYLOAD, value=0.5))) < MAX_PAYLOAD
