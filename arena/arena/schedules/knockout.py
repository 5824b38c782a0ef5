"""Knockouts: a bot is out after one defeat, or with `is_double` after two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from arena.errors import ConfigError
from arena.schedules.bracket_state import BracketRules, bracket_of
from arena.schedules.elimination import double_elimination, single_elimination
from arena.schedules.encounters import plan_encounters, points_of
from arena.schedules.protocol import Closed, PlannedBatch, Wait

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.schedules.bracket_state import Bracket, BracketTie
    from arena.schedules.protocol import Next, View


@dataclass(frozen=True, slots=True, kw_only=True)
class KnockoutSchedule:
    """Plays a bracket stage by stage; the seat of a bot is its seed, and the lowest is the best.

    A tie has `pairs` pairs. A level tie gets `tie_pairs` more, once; then the bot with fewer forfeits in the
    tie advances, then the better seed. A bot that has left or was disqualified loses by walkover.
    """

    num_bots: int
    """Number of bots in the draw; no bot joins later."""
    pairs: int
    """MatchPairs per tie."""
    openings: Sequence[tuple[int, ...]]
    """Pair k of two bots starts from opening k, modulo their number; later ties of the same bots continue
    there."""
    tie_pairs: int = 2
    """Further MatchPairs of a level tie; 0 for none."""
    third_place: bool = False
    """Whether the losers of the semifinals meet."""
    is_double: bool = False
    """Whether a bot is out only after two defeats."""

    def __post_init__(self) -> None:
        """Refuse impossible numbers.

        Raises:
            ConfigError: fewer than two bots, no pairs, no openings, or a third place that needs no match.
        """
        if self.num_bots < 2:  # noqa: PLR2004 # two meet
            raise ConfigError(f"a knockout needs at least two bots; {self.num_bots} given")
        if self.pairs < 1:
            raise ConfigError(f"pairs={self.pairs} is not a positive number")
        if self.tie_pairs < 0:
            raise ConfigError(f"tie_pairs={self.tie_pairs} is negative; 0 plays no further matches")
        if not self.openings:
            raise ConfigError("no opening is given; matches from the initial state need the empty one")
        if self.third_place and self.is_double:
            raise ConfigError(
                "with --double the bot that loses the last round of the losers' bracket is third;"
                " omit --third-place"
            )

    def bracket(self, view: View) -> Bracket:
        """Return the present bracket."""
        if self.is_double:
            shapes = double_elimination(self.num_bots)
        else:
            shapes = single_elimination(self.num_bots, third_place=self.third_place)
        return bracket_of(shapes, view, self.num_bots, BracketRules(self.pairs, self.tie_pairs))

    def next(self, view: View, wanted: int) -> Next:
        """Return the next ties of a stage.

        Further pairs of level ties are planned when all other ties of their stage have ended, so that the
        plan does not depend on the order in which results arrive.
        """
        bracket = self.bracket(view)
        last = bracket.decisive
        if last is not None and not bracket.stage:
            return Closed("" if last.winner is None else f"{view.seats[last.winner].label} wins the knockout")
        stage = bracket.stage
        note = " and ".join(dict.fromkeys(tie.shape.round_name for tie in stage))
        # Level ties wait for the open ones of their stage; see above.
        for state in ("open", "level"):
            ties = [tie for tie in stage if tie.state == state]
            missing = [_missing(tie) for tie in ties if tie.num_missing]
            if missing:
                found = plan_encounters(view.plan, missing, self.openings, max(2, wanted))
                return PlannedBatch(found, None, note if state == "open" else f"{note}, level encounters")
            # Some open ties of the stage are planned completely and still being played: level ties wait for
            # them.
            if ties:
                break
        num_open = sum(points_of(view, match) is None for match in view.plan)
        are_open = "1 match is" if num_open == 1 else f"{num_open} matches are"
        return Wait(f"{note}: {are_open} still to be played")


def _missing(tie: BracketTie) -> tuple[int, int, int]:
    """Return both seats of a tie, the lower one first, and the number of matches that it needs."""
    low, high = sorted(slot.seat for slot in tie.slots if slot.seat is not None)
    return low, high, tie.num_missing
