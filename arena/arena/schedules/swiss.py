"""A Swiss tournament: in each round every bot meets a new opponent with about as many points."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from math import fsum
from typing import TYPE_CHECKING, NamedTuple

from arena.errors import ConfigError
from arena.pairing.sampling import draw_number
from arena.rating.tiebreaks import Meeting
from arena.schedules.encounters import is_playing, plan_encounters, points_of, walkover
from arena.schedules.protocol import Closed, PlannedBatch, Wait
from arena_plugins.extras import require_modules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from arena.schedules.protocol import Next, View
    from arena_db.records import PlannedMatch

    Edge = tuple[int, int]

_DRAWN_BITS = 32
"""Number of compared bits of a hash; two otherwise equal pairings agree in them with probability 1 / 4e9."""


class SwissEncounter(NamedTuple):
    """The encounter of two bots in a round."""

    low: int
    """Lower seat."""
    high: int
    matches: tuple[PlannedMatch, ...]
    """Matches planned so far, of 2 · `pairs`."""


@dataclass(frozen=True, slots=True)
class SwissRound:
    """The encounters of a round."""

    number: int
    """From 1."""
    encounters: tuple[SwissEncounter, ...]
    """In the order of the plan."""
    end: int
    """Number of matches planned up to its end."""

    @property
    def seats(self) -> frozenset[int]:
        """All seats with an opponent."""
        return frozenset(seat for each in self.encounters for seat in (each.low, each.high))


@dataclass(frozen=True, slots=True, kw_only=True)
class SwissSchedule:
    """Pairs each round by the complete results of the rounds before.

    Of all perfect matchings it takes the one with, in this order, the fewest earlier byes and the fewest
    earlier meetings, the least sum of squared differences of points, and of bots with equal points the upper
    half against the lower half, by seat; remaining ties are drawn by the seed. There are no rules for
    colours, because the pairs of an encounter have both sides. If the number of bots is odd, a bye counts as
    an opponent with the fewest points.
    """

    rounds: int
    """Number of rounds; with more than the number of bots less one, bots meet again."""
    pairs: int
    """MatchPairs per encounter."""
    seed: int
    """Seed of the tournament; it decides all draws."""
    openings: Sequence[tuple[int, ...]]
    """Pair k of an encounter starts from opening k, modulo their number."""

    def __post_init__(self) -> None:
        """Refuse impossible numbers.

        Raises:
            ConfigError: no rounds, no pairs or no openings.
        """
        for name, value in (("rounds", self.rounds), ("pairs", self.pairs)):
            if value < 1:
                raise ConfigError(f"{name}={value} is not a positive number")
        if not self.openings:
            raise ConfigError("no opening is given; matches from the initial state need the empty one")

    def next(self, view: View, wanted: int) -> Next:
        """Return the next encounters of a round, whole pairs.

        A bot that joins or returns is paired from the next pairing on; one that has left is not. The bot
        without an opponent in a round meets a newcomer, if one joins in time. Rounds that a bot missed give
        it no points.
        """
        # Rounds are not stored; they follow from the plan, so a resumed tournament finds the same ones.
        played = self.rounds_of(view)
        last = played[-1] if played else SwissRound(0, (), 0)
        missing = [*self._rest(view, last)]
        waiting = self._waiting(view, last)
        if last.number and (len(waiting) > 1 or missing):
            number = last.number
        else:
            num_open = sum(
                points_of(view, match) is None for each in last.encounters for match in each.matches
            )
            if num_open:
                are_open = "1 match is" if num_open == 1 else f"{num_open} matches are"
                return Wait(f"{self._name(last.number)}: {are_open} still to be played")
            number = last.number + 1
            waiting = self._waiting(view, SwissRound(number, (), 0))
            if number > self.rounds or len(waiting) < 2:  # noqa: PLR2004 # two meet
                return Closed()
        before = played[: number - 1]
        pairings = self._pair(view, before, waiting, last.seats if number == last.number else frozenset())
        needed = [*missing, *((low, high, 2 * self.pairs) for low, high in pairings)]
        num_playing = sum(who.state == "playing" for who in view.seats)
        # An estimate of the total: bots may still join or leave.
        later = (self.rounds - number) * (num_playing // 2) * 2 * self.pairs
        return PlannedBatch(
            plan_encounters(view.plan, needed, self.openings, max(2, wanted)),
            len(view.plan) + sum(num for _, _, num in needed) + later,
            self._name(number),
        )

    def rounds_of(self, view: View) -> list[SwissRound]:
        """Return the rounds in the plan; the last one may be incomplete.

        No bot has two opponents in a round, and at most one participant is missing in a complete round. So an
        encounter begins a new round exactly if one of its bots has an opponent already.
        """
        found: list[SwissRound] = []
        now: list[SwissEncounter] = []
        taken: set[int] = set()
        end = 0
        for each in self._encounters(view):
            if taken & {each.low, each.high}:
                found.append(SwissRound(len(found) + 1, tuple(now), end))
                now, taken = [], set()
            now.append(each)
            taken |= {each.low, each.high}
            end += len(each.matches)
        if now:
            found.append(SwissRound(len(found) + 1, tuple(now), end))
        return found

    def scores(self, view: View, rounds: Iterable[SwissRound]) -> Counter[int]:
        """Return half points by seat after these rounds.

        A bye counts as winning all matches of an encounter.
        """
        found: Counter[int] = Counter()
        for each in rounds:
            for encounter in each.encounters:
                low, high = self.points(view, encounter)
                # Half points are whole numbers, which squared differences and comparisons need.
                found[encounter.low] += round(2 * low)
                found[encounter.high] += round(2 * high)
            for seat in self.byes(view, each):
                # Two half points for each of the 2 · pairs matches.
                found[seat] += 4 * self.pairs
        return found

    def points(self, view: View, encounter: SwissEncounter) -> tuple[float, float]:
        """Return the points of both bots so far.

        Unplayed matches of a bot that left count as won by the other one.
        """
        found = [points_of(view, match) or (0.0, 0.0) for match in encounter.matches]
        low, high = fsum(points for points, _ in found), fsum(points for _, points in found)
        missing = 2 * self.pairs - len(encounter.matches)
        if missing:
            last = encounter.matches[-1].number
            is_here = is_playing(view, encounter.low), is_playing(view, encounter.high)
            given = walkover(view, encounter.low, encounter.high, last)
            if given is None and not all(is_here):
                given = float(is_here[0]), float(is_here[1])
            if given is not None:
                low, high = low + missing * given[0], high + missing * given[1]
        return low, high

    def meetings(self, view: View) -> list[Meeting]:
        """Return all encounters and byes so far, for tie-breaks; bots are numbered by seat."""
        rounds = self.rounds_of(view)
        found: list[Meeting] = []
        for each in rounds:
            for encounter in each.encounters:
                low, high = self.points(view, encounter)
                told = [points_of(view, match) for match in encounter.matches]
                wins, losses = told.count((1.0, 0.0)), told.count((0.0, 1.0))
                found.append(Meeting(encounter.low, encounter.high, low, high, wins, losses))
            is_planned = each is not rounds[-1] or len(self._waiting(view, each)) < 2  # noqa: PLR2004 # two would meet
            byes = self.byes(view, each) if is_planned else ()
            found += [Meeting(seat, None, 2.0 * self.pairs, 0.0, 0, 0) for seat in byes]
        return found

    @staticmethod
    def byes(view: View, played: SwissRound) -> list[int]:
        """Return the participants of a complete round without opponent.

        At most one, unless bots have left.
        """
        found: list[int] = []
        for seat, who in enumerate(view.seats):
            gone = who.left_at if who.left_at is not None else (0 if who.state != "playing" else played.end)
            was_away = any(away.gone < played.end <= away.back for away in who.absences)
            if seat not in played.seats and who.joined_at < played.end <= gone and not was_away:
                found.append(seat)
        return found

    @staticmethod
    def _waiting(view: View, now: SwissRound) -> list[int]:
        """Return the participants that have no opponent in a round."""
        taken = now.seats
        return [seat for seat, who in enumerate(view.seats) if who.state == "playing" and seat not in taken]

    def _name(self, number: int) -> str:
        return f"round {number} of {self.rounds}"

    def _encounters(self, view: View) -> Iterator[SwissEncounter]:
        """Yield the encounters of the plan, 2 · pairs consecutive matches each; fewer if a bot left."""
        for _, group in groupby(view.plan, key=lambda match: match.encounter):
            matches = tuple(group)
            low, high = sorted((matches[0].first, matches[0].second))
            # A bot that returns begins another encounter, even if its opponent is the same as before it left.
            cuts = {
                away.back for seat in (low, high) for away in view.seats[seat].absences if away.change != 0
            }
            begin = 0
            for end, match in enumerate(matches, 1):
                if end == len(matches) or end - begin == 2 * self.pairs or match.number in cuts:
                    yield SwissEncounter(low, high, matches[begin:end])
                    begin = end

    def _rest(self, view: View, last: SwissRound) -> Iterator[tuple[int, int, int]]:
        """Yield the encounter whose matches did not all fit into the last batch."""
        for low, high, matches in last.encounters[-1:]:
            missing = 2 * self.pairs - len(matches)
            is_over = walkover(view, low, high, matches[-1].number) is not None
            if missing and is_playing(view, low) and is_playing(view, high) and not is_over:
                yield low, high, missing

    def _pair(
        self, view: View, before: Sequence[SwissRound], waiting: Sequence[int], paired: frozenset[int]
    ) -> list[tuple[int, int]]:
        """Return the pairings, the highest scores first.

        Args:
            view: plan and results so far.
            before: the rounds before this one.
            waiting: seats without an opponent.
            paired: seats that have an opponent in this round; they keep their places in the ranking.
        """
        scores = self.scores(view, before)
        ranking = sorted({*waiting, *paired}, key=lambda seat: (-scores[seat], seat))
        costs = dict(_costs(self, view, before, ranking, scores))
        is_waiting = {*waiting, len(view.seats)}
        left = {edge: cost for edge, cost in costs.items() if is_waiting.issuperset(edge)}
        found = pair_off(left)
        places = {seat: place for place, seat in enumerate(ranking)}
        return sorted(
            (edge for edge in found if len(view.seats) not in edge),
            key=lambda edge: sorted((places[edge[0]], places[edge[1]])),
        )


def _costs(
    schedule: SwissSchedule,
    view: View,
    before: Sequence[SwissRound],
    ranking: Sequence[int],
    scores: Mapping[int, int],
) -> Iterator[tuple[tuple[int, int], tuple[int, ...]]]:
    """Yield the permitted pairs with their costs; in an odd field the seat after the last one is a bye."""
    number = len(before) + 1
    byes = Counter(seat for each in before for seat in schedule.byes(view, each))
    met = Counter((each.low, each.high) for past in before for each in past.encounters)
    points = [scores[seat] for seat in ranking]
    sizes = Counter(points)
    seats = list(ranking)
    if len(seats) % 2:
        seats.append(len(view.seats))
        points.append(points[-1])
    for place, seat in enumerate(seats):
        for other_place in range(place + 1, len(seats)):
            other = seats[other_place]
            low, high = min(seat, other), max(seat, other)
            is_bye = other == len(view.seats)
            # Of bots with different points, the last of the upper group should meet the first of the lower
            # group.
            is_level = points[place] == points[other_place] and not is_bye
            distance = sizes[points[place]] // 2 if is_level else 1
            yield (
                (low, high),
                (
                    # Compared entry by entry: a later entry only breaks ties of the earlier ones.
                    byes[seat] if is_bye else 0,
                    met[low, high],
                    # Squared, so that two small differences are preferred to a large one.
                    (points[place] - points[other_place]) ** 2,
                    (other_place - place - distance) ** 2,
                    draw_number(f"{schedule.seed}/swiss/{number}/{low}/{high}") >> (64 - _DRAWN_BITS),
                ),
            )


def pair_off(costs: Mapping[Edge, tuple[int, ...]]) -> set[Edge]:
    """Return the perfect matching with the least sum of costs, compared entry by entry.

    It is a maximum-weight matching of a general graph (Edmonds' blossom algorithm; see Galil, "Efficient
    algorithms for finding maximum matching in graphs", 1986). The entries become the digits of one integer,
    because with float weights the search may miss the optimum.

    Args:
        costs: cost of each permitted pair, lower number first; 0 or more, and equally many entries for all. A
            perfect matching must exist.

    Raises:
        PluginError: networkx is not installed.
    """
    require_modules("a Swiss tournament", "bot-arena[events]", "networkx")
    import networkx as nx

    num = len({bot for edge in costs for bot in edge})
    # A matching has num / 2 pairs, so no sum of one entry reaches its limit and carries into the next.
    limits = [max(entries) * num + 1 for entries in zip(*costs.values(), strict=True)]
    weights: dict[Edge, int] = {}
    for edge, entries in costs.items():
        weight = 0
        for entry, limit in zip(entries, limits, strict=True):
            weight = weight * limit + entry
        weights[edge] = weight
    most = max(weights.values(), default=0)
    graph: nx.Graph[int] = nx.Graph()
    # In a fixed order: among equal matchings the search takes one that depends on the order of edges.
    for low, high in sorted(weights):
        # All perfect matchings have equally many pairs, so the largest sum of these is the least sum of
        # costs.
        graph.add_edge(low, high, weight=most - weights[low, high])
    return {(min(edge), max(edge)) for edge in nx.max_weight_matching(graph, maxcardinality=True)}
