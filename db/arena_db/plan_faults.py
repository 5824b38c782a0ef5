"""Compares tournaments, entrants and plans with each other and with the stored matches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import case, func, select, update

from arena_db import planning
from arena_db.cold_tables import cold_tournaments
from arena_db.models import entrants, leases, matches, planned, tournaments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import ColumnElement, Connection, Select

_REPAIR: Final = "`arena db repair` counts again"


def wrong_counts(connection: Connection, tournament: int | None = None) -> Iterator[str]:
    """Compare the counts of tournaments with their plans, and the plans with their matches.

    Args:
        connection: only read from.
        tournament: id of the only tournament; None for all whose matches are stored.
    """
    for row in connection.execute(_counts(tournament)):
        name, num_planned, num_done, num_dropped, size, marked, dropped, final, is_finished = row
        if num_dropped != dropped:
            yield (
                f"tournament {name} counts {num_dropped} planned matches as dropped, and marks {dropped}; "
                f"{_REPAIR}"
            )
        if num_planned != size:
            yield f"tournament {name} has {size} planned matches, not {num_planned}; {_REPAIR}"
        if not num_done == marked == final:
            yield (
                f"tournament {name} counts {num_done} planned matches as done, "
                f"marks {marked} and stores {final}; {_REPAIR}"
            )
        if is_finished and marked + dropped < size:
            yield f"tournament {name} is finished, with {size - marked - dropped} matches to be played"


def wrong_plans(connection: Connection) -> Iterator[str]:
    """Check every entrant and planned match: gaps in numbers, seats of encounters, marks, leases."""
    names = _names(connection)
    for tournament, num, last in connection.execute(_numbers(entrants.c.seat)):
        if last != num - 1:
            yield f"tournament {names[tournament]} has {num} entrants, the last of them in seat {last}"
    yield from wrong_matches(connection)
    without = select(tournaments.c.name).where(tournaments.c.id.not_in(select(leases.c.tournament_id)))
    for name in connection.scalars(without):
        yield f"tournament {name} has no lease, so nobody can run it; `arena db repair` makes one"


def wrong_matches(connection: Connection) -> Iterator[str]:
    """Check every planned match: gaps in numbers, seats of encounters, marks."""
    names = _names(connection)
    for tournament, num, last in connection.execute(_numbers(planned.c.number)):
        if last != num:
            yield f"tournament {names[tournament]} has {num} planned matches, the last of them number {last}"
    for tournament, encounter, num_pairs, num, last in connection.execute(_ENCOUNTERS):
        if num_pairs != 1:
            yield f"encounter {encounter} of tournament {names[tournament]} is planned for more than two bots"
        if last != num - 1:
            yield f"encounter {encounter} of tournament {names[tournament]} has a gap in its plan"
    for mark in wrong_marks(connection):
        yield f"match {mark.number} of tournament {names[mark.tournament]} is {_told(mark)}; {_REPAIR}"


class Mark(NamedTuple):
    """A planned match whose state or number of attempts contradicts its stored matches."""

    tournament: int
    number: int
    state: str
    attempt: int
    is_done: bool
    """Whether a final result is stored."""
    num_void: int
    """Number of stored attempts that are not final."""


def wrong_marks(connection: Connection) -> list[Mark]:
    """Return the planned matches whose marks contradict their stored matches."""
    own = (matches.c.tournament_id == planned.c.tournament_id) & (matches.c.number == planned.c.number)
    # Most matches have no void attempt, so only those with a stored or counted one are looked up.
    void = select(matches.c.tournament_id, matches.c.number, func.count().label("num"))
    void = void.where(matches.c.is_final == 0).group_by(matches.c.tournament_id, matches.c.number)
    counted = {(row[0], row[1]): row[2] for row in connection.execute(void)}
    has_final = select(matches.c.id).where(own, matches.c.is_final == 1).exists()
    columns = (planned.c.tournament_id, planned.c.number, planned.c.state, planned.c.attempt)
    wrong = select(*columns, has_final).where((planned.c.state == "done") != has_final)
    found: dict[tuple[int, int], tuple[Any, ...]] = {
        (row[0], row[1]): tuple(row) for row in connection.execute(wrong)
    }
    claimed = select(*columns, has_final).where(planned.c.attempt != 0)
    found.update({(row[0], row[1]): tuple(row) for row in connection.execute(claimed)})
    for tournament, number in counted.keys() - found.keys():
        here = (planned.c.tournament_id == tournament, planned.c.number == number)
        found.update(
            {
                (row[0], row[1]): tuple(row)
                for row in connection.execute(select(*columns, has_final).where(*here))
            }
        )
    marks = [Mark._make((*row[:4], bool(row[4]), counted.get(key, 0))) for key, row in sorted(found.items())]
    return [mark for mark in marks if (mark.state == "done") != mark.is_done or mark.attempt != mark.num_void]


def repair(connection: Connection) -> list[str]:
    """Mark planned matches by their stored matches, recount them, and add missing leases.

    Returns:
        What was changed, one sentence each.
    """
    done: list[str] = []
    marks = wrong_marks(connection)
    for mark in marks:
        here = (planned.c.tournament_id == mark.tournament, planned.c.number == mark.number)
        # A dropped match without a result stays dropped: only a wrong `done` means that it must still be
        # played.
        undone = "planned" if mark.state == "done" else mark.state
        state = "done" if mark.is_done else undone
        connection.execute(update(planned).where(*here).values(state=state, attempt=mark.num_void))
    if marks:
        done.append(f"{len(marks)} planned matches are marked as they were played")
    for name, *told, size, marked, dropped, _, _ in connection.execute(_counts()).all():
        counted = {"num_planned": size, "num_done": marked, "num_dropped": dropped}
        if told != list(counted.values()):
            connection.execute(update(tournaments).where(tournaments.c.name == name).values(counted))
            done.append(
                f"tournament {name} counts {size} planned matches, {marked} done and {dropped} dropped, no "
                f"longer {told[0]}, {told[1]} and {told[2]}"
            )
    missing = tournaments.c.id.not_in(select(leases.c.tournament_id))
    for number, name in connection.execute(select(tournaments.c.id, tournaments.c.name).where(missing)).all():
        planning.add_lease(connection, number)
        done.append(f"tournament {name} has a lease again")
    return done


def _counts(tournament: int | None = None) -> Select[*tuple[Any, ...]]:
    is_warm = tournaments.c.id.not_in(select(cold_tournaments.c.tournament_id))
    chosen = is_warm if tournament is None else tournaments.c.id == tournament
    own, of_own = planned.c.tournament_id == tournaments.c.id, matches.c.tournament_id == tournaments.c.id
    size = select(func.count()).where(own).scalar_subquery()
    done = select(func.count()).where(own, planned.c.state == "done").scalar_subquery()
    final = select(func.count()).where(of_own, matches.c.is_final == 1).scalar_subquery()
    dropped = select(func.count()).where(own, planned.c.state == "dropped").scalar_subquery()
    told = (tournaments.c.name, tournaments.c.num_planned, tournaments.c.num_done, tournaments.c.num_dropped)
    # A session ends when its person says so, whatever is left of its plan.
    is_finished = (tournaments.c.state == "finished") & (tournaments.c.type != "play")
    counted = select(*told, size, done, dropped, final, is_finished).where(chosen)
    return counted.order_by(tournaments.c.id)


_IS_LOWER_FIRST: Final = planned.c.first_seat < planned.c.second_seat
_LOW: Final = case((_IS_LOWER_FIRST, planned.c.first_seat), else_=planned.c.second_seat)
_HIGH: Final = case((_IS_LOWER_FIRST, planned.c.second_seat), else_=planned.c.first_seat)
_ENCOUNTERS: Final = select(
    planned.c.tournament_id,
    planned.c.encounter,
    case(((func.min(_LOW) == func.max(_LOW)) & (func.min(_HIGH) == func.max(_HIGH)), 1), else_=2),
    func.count(),
    func.max(planned.c.match_no),
).group_by(planned.c.tournament_id, planned.c.encounter)
"""Tournament, encounter, 1 if all its matches are between the same two seats, their number, and the last."""


def _told(mark: Mark) -> str:
    state = "done" if mark.is_done else "still to be played"
    return f"{state} after {mark.num_void} void attempts, and marked as {mark.state} after {mark.attempt}"


def _numbers(column: ColumnElement[int]) -> Select[*tuple[Any, ...]]:
    tournament = column.table.c.tournament_id
    return select(tournament, func.count(), func.max(column)).group_by(tournament)


def _names(connection: Connection) -> dict[int, str]:
    found = connection.execute(select(tournaments.c.id, tournaments.c.name))
    return _TournamentNames({row[0]: row[1] for row in found})


class _TournamentNames(dict[int, str]):
    """Names of tournaments by id; an unknown id stands for itself, as the check of references reports it."""

    def __missing__(self, number: int) -> str:
        return str(number)
