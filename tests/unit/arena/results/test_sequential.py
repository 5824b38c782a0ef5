"""The state of a sequential test, from the store."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from arena.errors import ArenaError
from arena.results.sequential import SprtBook, SprtReport, expectation
from arena.schedules.sprt_schedule import SprtSchedule, SprtState, SprtTest
from arena.schedules.sprt_words import parse_sprt
from arena_db.records import NewBatch, OpenPlan
from arena_db.store import Store
from schedules import SimulatedEvent
from stores import Cup, entrants, new_tournament

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from arena_db.records import PlannedMatch

WORDS = "elo0=0,elo1=150,alpha=0.2,beta=0.2,model=normalized"
NUM_PAIRS = 20


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "arena.db") as found:
        yield found


def _schedule(then_rate: int = 0) -> SprtSchedule:
    openings = [(place % 7, place // 7) for place in range(NUM_PAIRS)]
    return SprtSchedule(test=parse_sprt(WORDS), openings=openings, then_rate=then_rate)


def _planned() -> list[PlannedMatch]:
    event = SimulatedEvent(_schedule(), 2)
    event.ask(2 * NUM_PAIRS)
    return event.plan


def _add(store: Store, *, more: str = "") -> Cup:
    """Store a test whose pairs are all planned."""
    config = f'sprt = "{WORDS}"\npairs = {NUM_PAIRS}\n{more}'
    new = replace(new_tournament(), type="match", config=config)
    matches = _planned()
    seats = entrants("new", "old")
    cup = Cup(store.tournaments.add(new, seats, OpenPlan(2 * NUM_PAIRS)), seats, matches)
    store.plans.add_batch(cup.record.id, NewBatch(matches=matches, num_total=2 * NUM_PAIRS))
    return cup


def _play(store: Store, cup: Cup, outcomes: str, start: int = 1) -> None:
    """Store matches from `start` on: `w` and `l` won and lost by the tested bot, `d` drawn."""
    for number, letter in enumerate(outcomes, start):
        is_first = cup.plan[number - 1].first == 0
        outcome = "draw" if letter == "d" else "first" if (letter == "w") == is_first else "second"
        store.matches.save([cup.match(number, outcome=outcome, rated=False, duration_ms=500)])


def _report(store: Store, cup: Cup) -> SprtReport:
    record = store.tournaments.find(cup.record.id)
    assert record is not None
    return SprtBook(store, record).report()


def test_a_test_before_its_first_pair(store: Store) -> None:
    cup = _add(store)
    report = _report(store, cup)
    assert (report.state.decision, report.state.num_pairs, report.verdict()) == (None, 0, "")
    assert report.estimate() is None
    assert report.llr_line() == "SPRT: llr 0.00 (0.0%), lbound -1.39, ubound 1.39"
    assert report.line() == "SPRT: llr 0.00 (0.0%), lbound -1.39, ubound 1.39, 0 of 20 pairs"
    assert report.labels == ("new", "old")


def test_the_state_is_that_of_the_schedule(store: Store) -> None:
    cup = _add(store)
    _play(store, cup, "wldd")
    report = _report(store, cup)
    assert report.state == _schedule().state({(0, 0): 1.0, (0, 1): 0.0, (0, 2): 0.5, (0, 3): 0.5})
    assert (report.state.num_pairs, report.state.cells, report.played_s) == (2, (0, 0, 2, 0, 0), 2.0)


def test_who_lost_so_far(store: Store) -> None:
    cup = _add(store)
    _play(store, cup, "ll")
    report = _report(store, cup)
    share = 100 * report.state.ratio / 1.3862943611
    assert share < 0
    assert (
        report.llr_line() == f"SPRT: llr {report.state.ratio:.2f} ({share:.1f}%), lbound -1.39, ubound 1.39"
    )


def test_the_share_is_that_of_the_bound_it_goes_to() -> None:
    test = parse_sprt("elo0=0,elo1=150,alpha=0.05,beta=0.3")
    cells = (4, 0, 0, 0, 0)
    report = SprtReport(
        test=test,
        num_openings=20,
        state=SprtState(None, 4, test.ratio(cells), cells),
        labels=("new", "old"),
        then_rate=0,
        num_rated=0,
        num_matches=8,
        is_rated=False,
        played_s=1.0,
    )
    assert test.ratio(cells) < 0
    share = 100 * test.ratio(cells) / 1.1526795
    assert f"({share:.1f}%), lbound -1.15, ubound 2.64" in report.llr_line()


@pytest.mark.parametrize(
    ("outcomes", "decision", "sentence"),
    [
        ("w" * 8, "H1", "new is stronger: +{elo} Elo (95 %: {low} to {high}) after 4 pairs"),
        ("l" * 8, "H0", "not shown: -{elo} Elo (95 %: {low} to {high}) after 4 pairs"),
    ],
)
def test_verdicts(store: Store, outcomes: str, decision: str, sentence: str) -> None:
    cup = _add(store)
    _play(store, cup, outcomes)
    report = _report(store, cup)
    found = report.estimate()
    assert found is not None
    assert report.state.decision == decision
    told = sentence.format(elo=f"{abs(found.elo):.0f}", low=f"{found.low:.0f}", high=f"{found.high:.0f}")
    assert report.verdict() == report.line() == told
    assert report.to_object() == {
        "sprt": WORDS,
        "bot": "new",
        "opponent": "old",
        "decision": decision,
        "verdict": told,
        "llr": report.state.ratio,
        "lbound": pytest.approx(-1.3862943611),
        "ubound": pytest.approx(1.3862943611),
        "pairs": 4,
        "max_pairs": 20,
        "ptnml": report.state.cells,
        "elo": found.elo,
        "elo_low": found.low,
        "elo_high": found.high,
        "num_matches": 8,
        "played_s": 4.0,
        "then_rate": 0,
        "num_rated": 0,
        "is_rated": False,
    }


def test_all_openings_are_played(store: Store) -> None:
    cup = _add(store)
    _play(store, cup, "wl" * 4 + "wd" * 2 + "wl" * 14)
    report = _report(store, cup)
    assert report.state.decision == "undecided"
    assert report.verdict().startswith("undecided: all 20 openings are played; +")
    assert " pairs" not in report.verdict()


def test_a_test_of_no_loss_says_so(store: Store) -> None:
    words = "elo0=-150,elo1=0,alpha=0.2,beta=0.2,model=normalized"
    new = replace(new_tournament(), type="match", config=f'sprt = "{words}"\npairs = 20\n')
    seats = entrants("new", "old")
    matches = _planned()
    cup = Cup(store.tournaments.add(new, seats, OpenPlan(40)), seats, matches)
    store.plans.add_batch(cup.record.id, NewBatch(matches=matches, num_total=40))
    _play(store, cup, "wl" * 10)
    _play(store, cup, "wl" * 10, 21)
    assert _report(store, cup).verdict().startswith("new is not weaker: ")


def test_a_stored_decision_stands(store: Store) -> None:
    cup = _add(store, more="then-rate = 3\nrated = true\n")
    _play(store, cup, "w" * 8)
    decided = _report(store, cup).state
    store.plans.decide(cup.record.id, str(decided), num_more=6, encounter=0)
    _play(store, cup, "l" * 8, 9)
    report = _report(store, cup)
    assert report.state == decided
    assert (report.then_rate, report.num_rated, report.is_rated) == (3, 0, True)
    assert report.cost_line() == "16 matches of the test took 8 s of play; all of them are rated"


def test_a_book_reads_what_is_new(store: Store) -> None:
    cup = _add(store)
    book = SprtBook(store, cup.record)
    assert book.report().state.num_pairs == 0
    _play(store, cup, "wl")
    assert book.report().state.num_pairs == 1
    _play(store, cup, "wl", 3)
    assert book.report() == _report(store, cup)
    assert book.report().state.num_pairs == 2


def test_a_book_reads_again_what_somebody_declared_void(store: Store) -> None:
    cup = _add(store)
    book = SprtBook(store, cup.record)
    _play(store, cup, "wlww")
    assert book.report().state.num_pairs == 2
    store.changes.void([1], reason="r", who="u@h")
    assert book.report() == _report(store, cup)
    assert book.report().state.cells == (0, 0, 0, 0, 1)
    store.changes.unvoid([1], reason="r", who="u@h")
    assert book.report().state.num_pairs == 2


def test_matches_after_the_test_are_counted_apart(store: Store) -> None:
    cup = _add(store, more="then-rate = 1\n")
    _play(store, cup, "w" * 8)
    store.plans.decide(cup.record.id, str(_report(store, cup).state), num_more=2, encounter=0)
    after = [replace(match, number=40 + match.number, encounter=1) for match in cup.plan[:2]]
    store.plans.add_batch(cup.record.id, NewBatch(matches=after, num_total=10))
    whole = Cup(cup.record, cup.entrants, [*cup.plan, *after])
    store.matches.save([whole.match(41)])
    report = _report(store, cup)
    assert (report.num_rated, report.num_matches, report.played_s) == (1, 8, 4.0)
    assert (
        report.cost_line() == "8 matches of the test took 4 s of play; none of them is rated; 1 after it are"
    )


def test_a_test_that_is_gone(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    book = SprtBook(store, _add(store).record)

    def gone(_: int) -> None:
        return None

    monkeypatch.setattr(store.tournaments, "find", gone)
    with pytest.raises(ArenaError, match="no longer in"):
        book.report()


@pytest.mark.parametrize(
    ("words", "num", "told"),
    [
        ("gain", 972, "about 380 pairs if equal, 150 if 60 nElo stronger; at most 972"),
        ("non-regression", 972, "about 380 pairs if equal, 150 if 30 nElo stronger; at most 972"),
        ("elo0=-90,elo1=-60", 972, "about 93 pairs if equal, 150 if 120 nElo weaker; at most 972"),
        ("elo1=28,model=logistic", 500, "about 330 pairs if equal, 150 if 56 Elo stronger; at most 500"),
        ("elo1=400", 300, "about 8 pairs if equal, 4 if 800 nElo stronger; at most 300"),
    ],
)
def test_what_to_expect(words: str, num: int, told: str) -> None:
    assert expectation(parse_sprt(words), num) == told


def test_expected_lengths_are_those_of_the_test() -> None:
    assert SprtTest().expected_pairs(0, 972) == pytest.approx(385, abs=10)
