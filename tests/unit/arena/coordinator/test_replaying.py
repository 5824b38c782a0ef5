"""Swiss tournaments are replayed at their end, and every table shows the corrected ratings."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arena.coordinator import replaying
from arena.coordinator.replaying import keep_all_replays, keep_replays
from arena.rating.fit import fit
from arena.rating.model import MEAN_ELO
from arena.results.corrections import declare_void
from arena.results.history import rate_now
from arena.results.rated_matches import RatedMatches
from arena.results.rating_tables import Leaderboard, standings
from arena.results.replays import replayed_of
from arena.results.sides import GamePool
from arena.results.stored_sums import encounters_of
from arena.results.table_notes import notes_on
from arena_db.errors import RefusedError
from arena_db.records import MatchFilter
from arena_db.replays import StoredRatings
from arena_db.store import Store
from stores import tamper
from tournaments import TRIO, Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from arena.coordinator.config import TournamentConfig
    from arena.results.tables import Table
    from arena_db.replays import ReplayRecord

    Begin = Callable[[TournamentConfig], Sitting]

FIELD = (*TRIO, "minimax:depth=2", "mcts:playouts=5")
SWISS = {"type": "swiss", "rounds": 2, "pairs": 1, "name": "cup"}
KILLED = """
import os, signal, sys
sys.path.insert(0, {support!r})
from pathlib import Path
from arena.results import replays
from tournaments import Sitting
replays.weight_of = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
Sitting.reopen(Path({path!r})).play()
"""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with the tournament, played once for all tests."""
    path = tmp_path_factory.mktemp("played") / "cup.db"
    sitting = Sitting(path, config(*FIELD, **SWISS))
    assert sitting.play().state == "finished"
    sitting.store.close()
    return path


@pytest.fixture
def cup(played: Path, tmp_path: Path) -> Iterator[Sitting]:
    shutil.copy(played, tmp_path / "cup.db")
    sitting = Sitting.reopen(tmp_path / "cup.db")
    yield sitting
    sitting.store.close()


def tables(sitting: Sitting) -> list[Table]:
    record = sitting.store.tournaments.find(1)
    assert record is not None
    return standings(sitting.store, record)


def boards(store: Store) -> list[Table]:
    book = RatedMatches(MatchFilter())
    book.update(store)
    counts = store.sums.pool_counts(MatchFilter())
    return Leaderboard(
        counts, store.names.bots(), GamePool("tic-tac-toe", counts.tallies[0].pool), book
    ).tables()


def test_every_table_shows_the_replayed_ratings(cup: Sitting) -> None:
    sitting = cup
    found = replayed_of(sitting.store, 1)
    assert found is not None
    (table,) = tables(sitting)
    assert table.replayed
    assert "corrected by replays" in " ".join(notes_on([table]))
    labels = [entrant.label for entrant in sitting.store.tournaments.entrants(1)]
    shown = {row.name: (row.elo, row.error) for row in table.rows}
    # Computed by hand: the mean of the field is 1500, and the error is that of the replays.
    assert shown == {
        label: (pytest.approx(MEAN_ELO + elo), pytest.approx(error))
        for label, elo, error in zip(labels, found.strength.tolist(), found.error.tolist(), strict=True)
    }
    assert [row.name for row in table.rows] == sorted(labels, key=lambda label: (-shown[label][0], label))
    for row, below in zip(table.rows, table.rows[1:], strict=False):
        gap = found.gap(labels.index(row.name), labels.index(below.name))
        assert row.los == pytest.approx(gap.los)
    kept, moment = sitting.store.ratings.replay_of(1), sitting.store.sums.moment(1)
    assert kept is not None
    assert moment is not None
    plain = fit(encounters_of(moment.sums, {seat: seat for seat in range(5)}), 5)
    assert found.slope > 0
    assert kept.weight == pytest.approx(
        min(1.0, sum(each**2 for each in plain.error) / sum(each**2 for each in found.error.tolist()))
    )
    point = rate_now(sitting.store, 1, 5)
    assert point is not None
    assert {labels[each.seat]: (each.elo, each.error) for each in point.ratings} == shown
    # The last of the ratings over time equals that of the table.
    assert sitting.store.ratings.points(1)[-1].ratings == point.ratings
    anchored = standings(sitting.store, sitting.tournament, anchor=(labels[0], 1000.0))[0]
    for row in anchored.rows:
        gap = found.gap(labels.index(row.name), 0)
        assert (row.elo, row.error) == (pytest.approx(1000 + gap.elo), pytest.approx(gap.error))
    assert sitting.store.integrity.check() == []


def test_while_it_is_played_a_table_says_that_it_is_not_replayed(begin: Begin) -> None:
    sitting = begin(config(*FIELD, **SWISS))
    assert not keep_replays(sitting.store, 1)
    assert [table.replayed for table in tables(sitting)] == [False] * 5
    assert "not replayed yet" in " ".join(notes_on(tables(sitting)))
    # Nor if the results so far connect all bots.
    longer = begin(config(*FIELD, **{**SWISS, "rounds": 4}, rating_interval=12))
    assert longer.play(goal_reached=lambda: True).state == "stopped"
    assert all(len(table.rows) == len(FIELD) for table in tables(longer))
    assert not keep_replays(longer.store, 1)
    assert longer.store.ratings.replay_of(1) is None
    robin = begin(config(*TRIO))
    robin.play()
    assert robin.store.ratings.replay_of(1) is None
    assert [table.replayed for table in tables(robin)] == [None]
    assert notes_on(tables(robin)) == []


def test_bots_that_no_result_connects_are_not_replayed(begin: Begin) -> None:
    sitting = begin(config(*FIELD[:4], **{**SWISS, "rounds": 1}))
    assert sitting.play().state == "finished"
    assert sitting.store.ratings.replay_of(1) is None
    assert not keep_replays(sitting.store, 1)


def test_an_archived_event_is_replayed_too(cup: Sitting) -> None:
    cup.store.changes.void([1], reason="wrong", who="me")
    assert cup.store.changes.archive(1, who="me")
    assert keep_all_replays(cup.store) == ["cup"]
    assert cup.store.ratings.replay_of(1) is not None


def test_events_of_all_pages_are_looked_at(
    cup: Sitting, monkeypatch: pytest.MonkeyPatch, begin: Begin
) -> None:
    """The tournament that lacks its replays is on the last of three pages of tournaments."""
    store = cup.store
    declare_void(store, [1], [cup.matches()[0].id], "it was helped")
    for source in (begin(config(*TRIO, name="a")), begin(config(*TRIO, name="b"))):
        store.transfers.merge(source.store.path)
    monkeypatch.setattr(replaying, "_PAGE", 1)
    assert [each.name for each in store.tournaments.newest()][-1] == "cup"
    assert keep_all_replays(store) == ["cup"]


def test_a_void_removes_the_replays_and_unvoid_brings_back_the_same(cup: Sitting) -> None:
    sitting = cup
    store = sitting.store
    before, whole = store.ratings.replay_of(1), tables(sitting)
    match = sitting.matches()[0].id
    declare_void(store, [1], [match], "it was helped")
    assert store.ratings.replay_of(1) is None
    assert [table.replayed for table in tables(sitting)] == [False]
    assert keep_all_replays(store) == ["cup"]
    after = store.ratings.replay_of(1)
    assert after is not None
    assert before is not None
    assert after.num_matches == before.num_matches - 1
    assert after.strength != before.strength
    point = rate_now(store, 1, len(FIELD))
    assert point is not None
    assert store.ratings.points(1)[-1].ratings == point.ratings, "the curve ends at the new ratings"
    declare_void(store, [1], [match], "it was not", undo=True)
    assert keep_replays(store, 1)
    assert not keep_replays(store, 1)
    assert store.ratings.replay_of(1) == before
    assert tables(sitting) == whole
    assert store.integrity.check() == []


def test_a_kill_while_it_is_replayed_changes_nothing(cup: Sitting, begin: Begin, tmp_path: Path) -> None:
    expected = cup.store.ratings.replay_of(1)
    killed = begin(config(*FIELD, **SWISS))
    killed.store.close()
    support = str(Path(__file__).parents[3] / "support")
    path = tmp_path / "0.db"
    code = KILLED.format(support=support, path=str(path))
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=120, env=os.environ)  # noqa: S603 - our own
    assert done.returncode == -signal.SIGKILL
    again = Sitting.reopen(path)
    assert (again.state(), again.store.ratings.replay_of(1)) == ("running", None)
    assert again.tournament.is_complete
    assert again.play().state == "finished"
    assert again.store.ratings.replay_of(1) == expected
    again.store.close()


def test_an_event_that_changed_while_it_was_replayed_is_replayed_again(
    cup: Sitting, monkeypatch: pytest.MonkeyPatch
) -> None:
    sitting = cup
    store = sitting.store
    match = sitting.matches()[0].id
    kept = store.ratings.replay_of(1)
    assert kept is not None
    store.changes.void([match], reason="x", who="ann@lab")
    # Replays that are based on other matches are not stored.
    assert not store.ratings.add_replay(1, kept)
    add, calls = StoredRatings.add_replay, list[int]()

    def late(self: StoredRatings, tournament: int, replay: ReplayRecord) -> bool:
        if not calls:
            calls.append(0)
            with Store.open(store.path) as other:
                other.changes.unvoid([match], reason="x", who="ann@lab")
        return add(self, tournament, replay)

    monkeypatch.setattr(StoredRatings, "add_replay", late)
    assert keep_replays(store, 1)
    assert calls
    assert store.ratings.replay_of(1) == kept


def test_wrong_replays_are_found_and_computed_anew(cup: Sitting) -> None:
    sitting = cup
    kept = sitting.store.ratings.replay_of(1)
    tamper(sitting.store.path, "UPDATE replays SET weight = weight / 2")
    (fault,) = sitting.store.integrity.check()
    assert fault == (
        "the replayed ratings of cup are not as they were stored; `arena db repair` computes them again"
    )
    assert sitting.store.integrity.repair(lambda _: None) is None
    assert sitting.store.ratings.replay_of(1) is None
    assert keep_all_replays(sitting.store) == ["cup"]
    assert sitting.store.ratings.replay_of(1) == kept
    tamper(sitting.store.path, "UPDATE replays SET num_matches = 3")
    assert "do not fit the matches" in sitting.store.integrity.check()[0]


@pytest.mark.parametrize(
    "changes", [{"strength": (1.0,)}, {"away": ()}, {"strength": (float("nan"), 0.0, 0.0, 0.0, 0.0)}]
)
def test_replays_of_other_bots_are_refused(cup: Sitting, changes: dict[str, object]) -> None:
    sitting = cup
    kept = sitting.store.ratings.replay_of(1)
    assert kept is not None
    with pytest.raises(RefusedError):
        sitting.store.ratings.add_replay(1, kept._replace(**changes))


def test_a_leaderboard_of_one_event_has_its_ratings(cup: Sitting) -> None:
    (board,), (table,) = boards(cup.store), tables(cup)
    assert board.replayed
    figures = [
        {row.identity: (row.elo, row.error, row.los, row.games) for row in each.rows}
        for each in (board, table)
    ]
    assert figures[0] == figures[1]


def test_a_leaderboard_weighs_the_event_by_its_errors(
    cup: Sitting, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    sitting, other = cup, begin(config(*TRIO))
    other.play()
    sitting.store.transfers.merge(other.store.path)
    assert boards(sitting.store)[0].replayed is None
    kept = sitting.store.ratings.replay_of(1)
    assert kept is not None
    found: list[list[float]] = []
    for weight in (1.0, kept.weight, 0.25):
        changed = kept._replace(weight=weight)

        def weighed(*_: object, changed: ReplayRecord = changed) -> ReplayRecord:
            return changed

        monkeypatch.setattr(StoredRatings, "replay_of", weighed)
        (board,) = boards(sitting.store)
        found.append([row.error or 0.0 for row in sorted(board.rows, key=lambda row: row.name)])
        # The played matches are unchanged.
        num = kept.num_matches + len(other.matches())
        assert sum(row.games for row in board.rows) == 2 * num
        assert sum(row.pairs for row in board.rows) == num
    plain, own, quarter = map(sum, found)
    assert plain <= own <= quarter
    # Most matches are from the Swiss tournament: a quarter of them has nearly twice the errors.
    assert 1.05 < quarter / plain < 2.5


def test_three_stores_merged_in_any_order_have_equal_tables(
    cup: Sitting, begin: Begin, tmp_path: Path
) -> None:
    other, third = begin(config(*TRIO, **SWISS | {"srand": 8})), begin(config(*TRIO))
    for sitting in (other, third):
        sitting.play()
    declare_void(other.store, [1], [other.matches()[0].id], "it was helped")
    paths = [sitting.store.path for sitting in (cup, other, third)]
    for sitting in (cup, other, third):
        sitting.store.close()
    found: list[object] = []
    for number in range(3):
        order = paths[number:] + paths[:number]
        with Store.open(tmp_path / f"merged-{number}.db") as store:
            for path in order:
                store.transfers.merge(path)
            # A tournament with a void match has no replays, as in its own store.
            assert keep_all_replays(store) != []
            records = sorted(store.tournaments.newest(), key=lambda record: record.uid)
            replays = [store.ratings.replay_of(record.id) for record in records]
            assert [bool(each) for each in replays] == [record.type == "swiss" for record in records]
            parts = [
                (each.strength, each.away, each.weight, each.num_matches)
                for each in replays
                if each is not None
            ]
            found.append((boards(store), parts))
            assert store.integrity.check() == []
            assert not any(each.num_rows for path in order for each in store.transfers.merge(path))
    assert all(each == found[0] for each in found)
