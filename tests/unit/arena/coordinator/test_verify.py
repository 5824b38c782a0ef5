from __future__ import annotations

import dataclasses
from contextlib import closing
from typing import TYPE_CHECKING, Any, cast

import pytest

from arena.coordinator.verify import verify_match
from arena.results.addresses import address_of
from arena_db.backend.sqlite.engine import FileSettings, open_raw
from tournaments import TRIO, Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.coordinator.config import TournamentConfig
    from arena_db.records import StoredMatch

    Begin = Callable[[TournamentConfig], Sitting]


@pytest.fixture
def sitting(begin: Begin) -> Sitting:
    sitting = begin(config(*TRIO))
    sitting.play()
    return sitting


def tampered(match: StoredMatch, **changes: object) -> StoredMatch:
    return dataclasses.replace(match, **cast("dict[str, Any]", changes))


def with_action(match: StoredMatch, ply: int, action: int) -> StoredMatch:
    return tampered(match, actions=(*match.actions[:ply], action, *match.actions[ply + 1 :]))


def test_deterministic_bots_play_the_same_again(sitting: Sitting) -> None:
    for match in sitting.matches():
        finding = verify_match(sitting.store, match)
        assert finding == (
            True,
            f"match {address_of(match)} keeps the rules, and its bots play the same moves again",
        )


def test_code_that_was_not_hashed_is_told_of(sitting: Sitting) -> None:
    match = sitting.matches()[0]
    with closing(open_raw(FileSettings(place=sitting.store.path))) as raw:
        raw.execute("UPDATE bots SET content = NULL WHERE name = ?", (match.first_label.partition(":")[0],))
        raw.commit()
    finding = verify_match(sitting.store, match)
    assert finding.agrees
    assert finding.text.endswith(
        f"play the same moves again; the code of {match.first_label} was not hashed when it was played"
    )


@pytest.mark.usefixtures("compiled_bots")
def test_hosted_bots_play_the_same_again(begin: Begin) -> None:
    sitting = begin(config(*TRIO, isolation="T1"))
    sitting.play()
    assert all(verify_match(sitting.store, match).agrees for match in sitting.matches()[:2])


@pytest.mark.parametrize("place", [0, 2, -1])
def test_an_illegal_action_is_found(sitting: Sitting, place: int) -> None:
    match = sitting.matches()[0]
    ply = place % len(match.actions)
    finding = verify_match(sitting.store, with_action(match, ply, 99))
    assert finding == (
        False,
        f"match {address_of(match)} contradicts the rules: action 99 at ply {ply + 1} is not legal",
    )


def test_a_wrong_outcome_is_found(sitting: Sitting) -> None:
    match = sitting.matches()[0]
    wrong = next(outcome for outcome in ("first", "second", "draw") if outcome != match.outcome)
    finding = verify_match(sitting.store, tampered(match, outcome=wrong))
    assert finding == (
        False,
        f"match {address_of(match)} contradicts the rules: its outcome is {match.outcome}, not {wrong}",
    )


def test_a_lost_end_is_found(sitting: Sitting) -> None:
    match = sitting.matches()[0]
    finding = verify_match(sitting.store, tampered(match, actions=match.actions[:-1]))
    assert finding == (
        False,
        f"match {address_of(match)} contradicts the rules: the game is not over after its last action",
    )


def test_another_legal_action_is_found(sitting: Sitting) -> None:
    match = next(match for match in sitting.matches() if len(match.actions) > match.num_opening + 3)
    ply = match.num_opening + 1
    other = next(action for action in range(9) if action not in match.actions[: ply + 1])
    # The match is cut short, so that the rules find nothing wrong.
    false = tampered(with_action(match, ply, other), termination="time_move", outcome="first")
    false = tampered(false, actions=false.actions[: ply + 1])
    finding = verify_match(sitting.store, false)
    mover = (match.first_label, match.second_label)[ply % 2]
    assert not finding.agrees
    move = "abc"[other % 3] + str(3 - other // 3)
    assert finding.text.startswith(
        f"match {address_of(match)} diverges at ply {ply + 1}: {mover} played {move}, now "
    )


def test_a_match_that_was_cut_short_is_compared_as_far_as_it_went(sitting: Sitting) -> None:
    match = sitting.matches()[0]
    cut = tampered(match, termination="aborted", outcome="void", actions=match.actions[:-2])
    assert verify_match(sitting.store, cut).agrees


def test_a_match_that_went_on_too_long_is_found(sitting: Sitting) -> None:
    match = sitting.matches()[0]
    short = tampered(match, termination="rules", actions=(*match.actions, 0))
    assert "contradicts the rules" in verify_match(sitting.store, short).text


def test_bots_that_are_not_deterministic_may_differ(begin: Begin) -> None:
    # With a time limit, mcts does not declare itself deterministic.
    sitting = begin(config("random", "mcts:seconds=0.001"))
    sitting.play()
    match = next(match for match in sitting.matches() if match.first_label == "mcts:seconds=0.001")
    ply = match.num_opening
    assert ply % 2 == 0
    other = next(action for action in range(9) if action not in match.actions[: ply + 1])
    cut = tampered(match, termination="time_move", actions=(*match.actions[:ply], other))
    texts = {
        verify_match(sitting.store, one).text
        for one in (cut, tampered(cut, actions=match.actions[: ply + 1]))
        for _ in range(3)
    }
    assert any("which does not say that it is deterministic, plays another one" in text for text in texts)
    assert all("keeps the rules" in text for text in texts)


def test_a_bot_that_no_longer_plays_diverges(begin: Begin) -> None:
    sitting = begin(config("random", "strange:cheat=on"))
    sitting.play()
    match = sitting.matches()[0]
    assert match.termination == "illegal_move"
    assert verify_match(sitting.store, match).agrees
    state_actions = [action for action in range(9) if action not in match.actions]
    longer = tampered(match, actions=(*match.actions, state_actions[0]))
    finding = verify_match(sitting.store, longer)
    assert not finding.agrees
    assert finding.text.split("now ")[1].startswith("nothing")


def test_a_match_of_nothing_is_an_error(sitting: Sitting) -> None:
    with pytest.raises(Exception, match="belongs to no tournament; arena db check shows more"):
        verify_match(sitting.store, tampered(sitting.matches()[0], tournament_name="gone"))
