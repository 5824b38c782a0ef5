"""The state of a knockout's bracket: the bots and score of each encounter, and why a bot advanced."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from arena.pairing.schedule import stable_encounter
from arena.schedules.elimination import SECOND_FINAL, THIRD_PLACE
from arena.schedules.encounters import is_playing, points_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.schedules.elimination import SlotOrigin, TieShape
    from arena.schedules.protocol import View
    from arena_db.records import PlannedMatch

TieState: TypeAlias = Literal["waiting", "open", "level", "decided", "not needed"]


class BracketSlot(NamedTuple):
    """One side of a tie."""

    seat: int | None
    """The bot's seat; None for a bye, or while it is not known."""
    is_known: bool
    """Whether it is decided which bot, if any, has this slot."""
    origin: str
    """Where its bot comes from: `seed 3`, `winner of semifinal 1`."""
    points: float = 0.0
    """Points so far, walkovers included."""
    num_forfeits: int = 0
    """Matches of this tie that it forfeited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BracketTie:
    """An encounter of a bracket, as far as it is known."""

    shape: TieShape
    slots: tuple[BracketSlot, BracketSlot]
    state: TieState
    """waiting (for earlier ties), open (bots known), level (to be continued), decided or not needed."""
    winner: int | None = None
    """Seat of the winner; None while it is not decided, or if the tie has no bot."""
    loser: int | None = None
    why: str = ""
    """What decided the tie, as text; empty before."""
    num_missing: int = 0
    """Number of matches that the tie needs now and that are not planned yet."""


@dataclass(frozen=True, slots=True)
class Bracket:
    """All encounters of a knockout."""

    ties: tuple[BracketTie, ...]
    """Each after the ties that it waits for."""

    @property
    def decisive(self) -> BracketTie | None:
        """The tie that decides the knockout; None until it is decided."""
        played = [tie for tie in self.ties if tie.state != "not needed"]
        return played[-1] if played[-1].state == "decided" else None

    @property
    def stage(self) -> list[BracketTie]:
        """The ties of the first stage with an undecided tie; empty if all are decided."""
        open_ties = [tie for tie in self.ties if tie.state not in {"decided", "not needed"}]
        first = min((tie.shape.stage for tie in open_ties), default=-1)
        return [tie for tie in self.ties if tie.shape.stage == first]

    def places(self, num_bots: int) -> list[int | None]:
        """Return the place of each bot by seat; losers of one round share a place, None is still in."""
        ranks: dict[int, float] = {}
        for tie in self.ties:
            if tie.state == "decided" and tie.shape.out:
                if tie.loser is not None:
                    ranks[tie.loser] = tie.shape.out
                if tie.shape.name == THIRD_PLACE and tie.winner is not None:
                    # Above the loser of this tie, below the bots that the next higher number stands for.
                    ranks[tie.winner] = tie.shape.out + 0.5
        last = self.decisive
        if last is not None and last.winner is not None:
            most = len(self.ties)
            # Above every `out`, which is at most the number of rounds.
            ranks[last.winner] = most + 2
            if last.loser is not None:
                ranks[last.loser] = most + 1
        # Places are counted from the top, and bots that are still in will take the best ones.
        num_in = num_bots - len(ranks)
        return [
            1 + num_in + sum(other > ranks[seat] for other in ranks.values()) if seat in ranks else None
            for seat in range(num_bots)
        ]


class BracketRules(NamedTuple):
    """How a tie is played."""

    pairs: int
    """MatchPairs per tie."""
    tie_pairs: int
    """Further MatchPairs of a level tie, only once."""


def bracket_of(shapes: Sequence[TieShape], view: View, num_bots: int, rules: BracketRules) -> Bracket:
    """Return the bracket for the results of a view; seats are seeds, the lowest is the best.

    Args:
        shapes: all ties, each after those it waits for.
        view: plan and results so far; matches of two bots belong to their ties in the order of the plan.
        num_bots: number of bots in the draw; higher seats took no part in it.
        rules: pairs per tie.
    """
    judge = _Judge(view, num_bots, rules)
    for shape in shapes:
        judge.add(shape)
    return Bracket(tuple(judge.ties))


class _Judge:
    """Decides ties one after the other."""

    def __init__(self, view: View, num_bots: int, rules: BracketRules) -> None:
        self._view = view
        self._num_bots = num_bots
        self._rules = rules
        self.ties: list[BracketTie] = []
        self._planned: defaultdict[int, list[PlannedMatch]] = defaultdict(list)
        for match in view.plan:
            self._planned[match.encounter].append(match)
        self._used: Counter[int] = Counter()

    def add(self, shape: TieShape) -> None:
        """Decide a tie whose predecessors were added already."""
        one, other = self._slot(shape.slots[0]), self._slot(shape.slots[1])
        if shape.name == SECOND_FINAL and self._is_unbeaten(self.ties[-1]):
            found = BracketTie(shape=shape, slots=(one, other), state="not needed")
        elif not (one.is_known and other.is_known):
            found = BracketTie(shape=shape, slots=(one, other), state="waiting")
        elif one.seat is None or other.seat is None:
            winner = one.seat if other.seat is None else other.seat
            found = BracketTie(shape=shape, slots=(one, other), state="decided", winner=winner, why="bye")
        else:
            found = self._play(shape, (one, other), (one.seat, other.seat))
        self.ties.append(found)

    @staticmethod
    def _is_unbeaten(final: BracketTie) -> bool:
        """Return whether the bot from the winners' bracket won the first final."""
        return final.state == "decided" and final.winner == final.slots[0].seat

    def _slot(self, origin: SlotOrigin) -> BracketSlot:
        if origin.kind == "seed":
            is_drawn = origin.number < self._num_bots
            seat = origin.number if is_drawn else None
            return BracketSlot(seat, is_known=True, origin=f"seed {origin.number + 1}" if is_drawn else "bye")
        tie = self.ties[origin.number]
        seat = tie.winner if origin.kind == "winner" else tie.loser
        return BracketSlot(seat, tie.state == "decided", f"{origin.kind} of {tie.shape.name}")

    def _play(
        self, shape: TieShape, slots: tuple[BracketSlot, BracketSlot], seats: tuple[int, int]
    ) -> BracketTie:
        """Evaluate a tie of two bots by its matches."""
        low, high = sorted(seats)
        encounter = stable_encounter(low, high)
        # Two bots may meet in several ties; each tie takes the next of their matches in the plan.
        own = self._planned[encounter][self._used[encounter] :]
        num = 2 * self._rules.pairs
        points = self._points(own[:num], seats)
        state: TieState = "open"
        # Only after the regular matches, which alone decide whether there are more.
        if self._is_played(own[:num], num) and points[0] == points[1] and self._rules.tie_pairs:
            num += 2 * self._rules.tie_pairs
            state = "level"
        matches = own[:num]
        self._used[encounter] += len(matches)
        forfeits = Counter(self._view.forfeits.get((match.encounter, match.match_no)) for match in matches)
        points = self._points(matches, seats)
        one, other = (
            slot._replace(points=points[at], num_forfeits=forfeits[seat])
            for at, (slot, seat) in enumerate(zip(slots, seats, strict=True))
        )
        winner, why = self._decide(matches, num, seats, (one, other))
        if winner is None:
            missing = num - len(matches)
            return BracketTie(shape=shape, slots=(one, other), state=state, num_missing=missing)
        loser = seats[1] if winner == seats[0] else seats[0]
        return BracketTie(
            shape=shape, slots=(one, other), state="decided", winner=winner, loser=loser, why=why
        )

    def _decide(
        self,
        matches: Sequence[PlannedMatch],
        num: int,
        seats: tuple[int, int],
        slots: tuple[BracketSlot, BracketSlot],
    ) -> tuple[int | None, str]:
        """Return the winner and the reason; None while the tie must be played."""
        one, other = slots
        if not self._is_played(matches, num):
            here = [seat for seat in seats if is_playing(self._view, seat)]
            if len(here) == len(seats):
                return None, ""
            gone = " and ".join(self._gone(seat) for seat in seats if seat not in here)
            # If both are gone, the higher seed advances, and loses its next tie by walkover.
            winner = here[0] if here else min(seats)
            return winner, f"walkover: {gone}" if here else f"{gone}; {self._seed(winner, seats)}"
        if one.points != other.points:
            winner = seats[0] if one.points > other.points else seats[1]
            better, worse = sorted((one.points, other.points), reverse=True)
            first = matches[: 2 * self._rules.pairs]
            if num == len(first):
                return winner, f"{better:g} : {worse:g}"
            was = self._points(first, seats)[0]
            more = f"{better - was:g} : {worse - was:g} in {num - len(first)} more matches"
            return winner, f"{more} after {was:g} : {was:g}"
        # A level tie is decided without chance and without further matches: two deterministic bots could stay
        # level for ever, and a resumed knockout must decide the same.
        level = f"level after {num} matches, {one.points:g} : {other.points:g}"
        if one.num_forfeits != other.num_forfeits:
            winner = seats[0] if one.num_forfeits < other.num_forfeits else seats[1]
            fewer, more = sorted((one.num_forfeits, other.num_forfeits))
            return winner, f"{level}; {self._label(winner)} forfeited {fewer} of them, the other bot {more}"
        winner = min(seats)
        return winner, f"{level}, and in forfeits; {self._seed(winner, seats)}"

    def _is_played(self, matches: Sequence[PlannedMatch], num: int) -> bool:
        """Return whether a tie has this number of matches and all of them have ended."""
        return len(matches) == num and all(
            (match.encounter, match.match_no) in self._view.results for match in matches
        )

    def _points(self, matches: Sequence[PlannedMatch], seats: tuple[int, int]) -> tuple[float, float]:
        found = [points_of(self._view, match) or (0.0, 0.0) for match in matches]
        low, high = fsum(points for points, _ in found), fsum(points for _, points in found)
        return (low, high) if seats[0] < seats[1] else (high, low)

    def _label(self, seat: int) -> str:
        return self._view.seats[seat].label

    def _gone(self, seat: int) -> str:
        return f"{self._label(seat)} {'is out' if self._view.seats[seat].state == 'out' else 'has left'}"

    def _seed(self, winner: int, seats: tuple[int, int]) -> str:
        return f"{self._label(winner)} is the higher seed ({min(seats) + 1}, the other bot {max(seats) + 1})"
