"""The state of a sequential test, computed from the store for terminal, dashboard, JSON and resume."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arena.errors import ArenaError
from arena.live.plain import duration_text
from arena.rating.sprt import bounds
from arena.results.tested import is_test
from arena.schedules.protocol import RATED_ENCOUNTER, TEST_ENCOUNTER
from arena.schedules.sprt_words import parse_sprt, sprt_text

if TYPE_CHECKING:
    from arena.rating.estimate import SprtEstimate
    from arena.schedules.protocol import MatchKey
    from arena.schedules.sprt_schedule import SprtState, SprtTest
    from arena_db.records import TournamentRecord
    from arena_db.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class SprtReport:
    """Progress, verdict and cost of a sequential test."""

    test: SprtTest
    num_openings: int
    """Maximum number of pairs."""
    state: SprtState
    labels: tuple[str, str]
    """The tested bot and its opponent."""
    then_rate: int
    """Number of rated pairs that are played after the decision."""
    num_rated: int
    """Number of matches of the rated pairs that have been played."""
    num_matches: int
    """Number of matches of the test, including those in progress when it was decided."""
    is_rated: bool
    """Whether the matches of the test count for ratings."""
    played_s: float
    """Sum of the durations of the test's matches, in seconds."""

    def llr_line(self) -> str:
        """Return `SPRT: llr 1.21 (41.2%), lbound -2.94, ubound 2.94`, the format of other testing programs.

        The percentage is the share of the nearer bound, negative towards the lower one.
        """
        lower, upper = bounds(self.test.alpha, self.test.beta)
        ratio = self.state.ratio
        share = ratio / (upper if ratio >= 0 else -lower)
        return f"SPRT: llr {ratio:z.2f} ({100 * share:z.1f}%), lbound {lower:.2f}, ubound {upper:.2f}"

    def verdict(self) -> str:
        """Return the decision of the test in one sentence; empty before it."""
        num = self.state.num_pairs
        if self.state.decision is None:
            return ""
        if self.state.decision == "undecided":
            return f"undecided: all {self.num_openings} openings are played{self._said('; ')}"
        if self.state.decision == "H0":
            return f"not shown{self._said(': ')} after {num} pairs"
        what = "stronger" if self.test.elo0 >= 0 else "not weaker"
        return f"{self.labels[0]} is {what}{self._said(': ')} after {num} pairs"

    def cost_line(self) -> str:
        """Return the cost of the test, and whether its matches are rated."""
        rated = "all of them are rated" if self.is_rated else "none of them is rated"
        after = f"; {self.num_rated} after it are" if self.num_rated and not self.is_rated else ""
        took = f"took {duration_text(self.played_s)} of play"
        return f"{self.num_matches} matches of the test {took}; {rated}{after}"

    def line(self) -> str:
        """Return the verdict, or the progress towards one."""
        return self.verdict() or f"{self.llr_line()}, {self.state.num_pairs} of {self.num_openings} pairs"

    def estimate(self) -> SprtEstimate | None:
        """Return the estimated difference, corrected for optional stopping; None without pairs."""
        return self.test.estimate(self.state) if self.state.num_pairs else None

    def to_object(self) -> dict[str, object]:
        """Return the report as an object for JSON; decision and verdict are None before the end."""
        lower, upper = bounds(self.test.alpha, self.test.beta)
        found = self.estimate() if self.state.decision is not None else None
        return {
            "sprt": sprt_text(self.test),
            "bot": self.labels[0],
            "opponent": self.labels[1],
            "decision": self.state.decision,
            "verdict": self.verdict() or None,
            "llr": self.state.ratio,
            "lbound": lower,
            "ubound": upper,
            "pairs": self.state.num_pairs,
            "max_pairs": self.num_openings,
            "ptnml": self.state.cells,
            "elo": None if found is None else found.elo,
            "elo_low": None if found is None else found.low,
            "elo_high": None if found is None else found.high,
            "num_matches": self.num_matches,
            "played_s": self.played_s,
            "then_rate": self.then_rate,
            "num_rated": self.num_rated,
            "is_rated": self.is_rated,
        }

    def _said(self, before: str) -> str:
        found = self.estimate()
        if found is None:
            return ""
        return f"{before}{found.elo:+z.0f} Elo (95 %: {found.low:z.0f} to {found.high:z.0f})"


class SprtBook:
    """Reads the results of a test incrementally."""

    def __init__(self, store: Store, tournament: TournamentRecord) -> None:
        """Prepare for a tournament for which `is_test` holds; nothing is read yet."""
        config = _config(tournament)
        self._store = store
        self._id = tournament.id
        self._test = parse_sprt(str(config["sprt"]))
        self._num_openings = int(config["pairs"])
        self._then_rate = int(config.get("then-rate", 0))
        self._is_rated = bool(config.get("rated", False))
        labels = [entrant.label for entrant in store.tournaments.entrants(tournament.id)]
        self._labels = (labels[0], labels[1])
        self._results: dict[MatchKey, float | None] = {}
        self._last = 0
        self._change = 0

    def report(self) -> SprtReport:
        """Return the state of the test from all results stored so far.

        Raises:
            ArenaError: the tournament is gone, or its decision cannot be read.
        """
        record = self._store.tournaments.find(self._id)
        if record is None:
            raise ArenaError(f"tournament {self._id} is no longer in {self._store.place}")
        change = self._store.changes.last(self._id)
        if change != self._change:
            # A match may have become void or valid since, so all results are read again.
            self._results, self._last, self._change = {}, 0, change
        last = self._store.matches.last_id(self._id)
        for result in self._store.plans.results(self._id, after=self._last, last=last):
            self._results[result.encounter, result.match_no] = result.points
        self._last = last
        state = self._test.after(self._results, num_openings=self._num_openings, decision=record.decision)
        return SprtReport(
            test=self._test,
            num_openings=self._num_openings,
            state=state,
            labels=self._labels,
            then_rate=self._then_rate,
            num_rated=sum(encounter == RATED_ENCOUNTER for encounter, _ in self._results),
            num_matches=sum(encounter == TEST_ENCOUNTER for encounter, _ in self._results),
            is_rated=self._is_rated,
            played_s=self._store.plans.play_time(self._id, TEST_ENCOUNTER),
        )


def book_of(store: Store, tournament: TournamentRecord) -> SprtBook | None:
    """Return the reader of a test's state; None for a tournament that is not a test."""
    return SprtBook(store, tournament) if is_test(tournament) else None


def report_of(store: Store, tournament: TournamentRecord) -> SprtReport | None:
    """Return the state of a test; None for a tournament that is not a test."""
    book = book_of(store, tournament)
    return None if book is None else book.report()


def expectation(test: SprtTest, num_openings: int) -> str:
    """Return the expected length: `about 390 pairs if equal, 140 if 60 nElo stronger; at most 972`."""
    unit = "nElo" if test.model == "normalized" else "Elo"
    width = test.elo1 - test.elo0
    other = test.elo1 + width if test.elo1 + width > 0 else test.elo0 - width
    equal, apart = (f"{_rounded(test.expected_pairs(elo, num_openings))}" for elo in (0.0, other))
    how = "stronger" if other > 0 else "weaker"
    return f"about {equal} pairs if equal, {apart} if {abs(other):g} {unit} {how}; at most {num_openings}"


def _rounded(number: float) -> int:
    """Round a number to two significant digits; more would suggest false precision."""
    size = max(1, 10 ** (len(str(round(number))) - 2))
    return round(number / size) * size


def _config(tournament: TournamentRecord) -> dict[str, Any]:
    return tomllib.loads(tournament.config)
