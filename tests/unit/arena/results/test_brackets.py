from __future__ import annotations

from typing import TYPE_CHECKING

from arena.results.brackets import bracket_lines, bracket_rows
from arena.schedules.knockout import KnockoutSchedule
from arena.schedules.protocol import Participant, View
from schedules import SimulatedEvent, play_all

if TYPE_CHECKING:
    from arena_db.records import PlannedMatch

LABELS = ["mcts", "minimax", "solver", "alphazero", "random"]


def _event(num: int) -> tuple[SimulatedEvent, KnockoutSchedule]:
    schedule = KnockoutSchedule(num_bots=num, pairs=1, openings=[()], third_place=True)
    event = SimulatedEvent(schedule, num)
    event.seats = tuple(Participant(label) for label in LABELS[:num])
    return event, schedule


def _level_until_played_on(match: PlannedMatch) -> float:
    """Return points for which seats 0 and 3 are level for two matches, and seat 3 wins the others."""
    if {match.first, match.second} == {0, 3}:
        return 0.5 if match.match_no < 2 else 0.0
    return 1.0


def test_a_bracket_reads_like_a_table() -> None:
    event, schedule = _event(5)
    play_all(event, 256, _level_until_played_on)
    assert bracket_lines(bracket_rows(schedule.bracket(event.view()), LABELS)) == [
        "quarterfinal",
        "  alphazero *     2 : 0     random",
        "semifinal",
        "  mcts            1 : 5     alphazero *  4 : 0 in 4 more matches after 1 : 1",
        "  minimax *       2 : 0     solver",
        "third place",
        "  mcts *          2 : 0     solver",
        "final",
        "  alphazero       0 : 2     minimax *",
    ]


def test_what_is_not_known_is_named_by_its_origin() -> None:
    event, schedule = _event(5)
    event.ask(256)
    lines = bracket_lines(bracket_rows(schedule.bracket(event.view()), LABELS))
    assert lines[1].split() == ["alphazero", "0", ":", "0", "random", "no", "result", "yet"]
    assert "(winner of quarterfinal 2)" in lines[3]
    assert ":" not in lines[3]
    assert lines[-1].split() == ["(winner", "of", "semifinal", "1)", "(winner", "of", "semifinal", "2)"]


def test_rows_say_who_why_and_from_where() -> None:
    event, schedule = _event(3)
    first = event.ask(256)
    for match in first:
        event.results[match.encounter, match.match_no] = 0.5
    event.ask(256)
    view = View(
        seats=event.seats, plan=event.plan, results=event.results, forfeits={(first[0].encounter, 0): 1}
    )
    bye, level, third, final = bracket_rows(schedule.bracket(view), LABELS)
    assert (bye.first, bye.second, bye.second_origin, bye.winner, bye.why) == (
        "mcts",
        None,
        "bye",
        "mcts",
        "bye",
    )
    assert (level.first, level.second, level.state, level.winner) == ("minimax", "solver", "level", None)
    assert (level.first_points, level.second_points) == (1.0, 1.0)
    assert (level.first_forfeits, level.second_forfeits) == (1, 0)
    assert (final.stage, final.first, final.second, final.state) == (2, "mcts", None, "waiting")
    assert (final.first_origin, final.second_origin) == ("winner of semifinal 1", "winner of semifinal 2")
    assert (third.encounter, third.first_origin) == ("third place", "loser of semifinal 1")
    lines = bracket_lines([bye, level, third, final])
    assert lines[1].endswith("level, more matches are played")
    assert bracket_lines([]) == []
