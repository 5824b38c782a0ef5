"""A store of the first version is upgraded completely, after a backup, and can be downgraded."""

from __future__ import annotations

import json
import shutil
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arena_db import live
from arena_db.backend.sqlite import opening
from arena_db.backend.sqlite.engine import find_driver
from arena_db.errors import OlderError, TakenError
from arena_db.owner import Owner
from arena_db.points import RatingPoint, SeatRating
from arena_db.records import LiveEvent, MatchFilter
from arena_db.store import Store
from stores import Cup, add_cup, downgrade, tamper

if TYPE_CHECKING:
    from arena_db.records import StoredMatch, Tally

pytestmark = pytest.mark.sqlite("revisions before 0015 exist only in files")

SQL = Path(__file__).with_name("store-0001.sql")
"""Two tournaments with void attempts, a repeat, faults and requests, as the first version stored them."""
ALL = MatchFilter(rated_only=False)


@pytest.fixture
def old(path: Path) -> Path:
    """Return the path of a store of the first version."""
    with closing(find_driver().module.connect(path)) as raw:
        raw.executescript(SQL.read_text(encoding="utf-8"))
    return path


def everything(path: Path) -> tuple[list[StoredMatch], list[Tally]]:
    with Store.open(path) as store:
        assert store.integrity.check() == []
        return store.matches.newest(ALL), store.sums.tallies(ALL)


def test_all_is_kept(old: Path) -> None:
    with pytest.raises(OlderError, match="arena db upgrade"):
        Store.open(old, read_only=True)
    found, tallies = everything(old)
    assert [(match.tournament_name, match.number, match.attempt) for match in reversed(found)] == [
        *(("cup", 1, 0), ("cup", 2, 0), ("cup", 3, 0), ("cup", 3, 1), ("cup", 4, 0), ("cup", 7, 0)),
        *(("cup", 8, 0), ("cup", 5, 0), ("match-2", 1, 0), ("match-2", 3, 0)),
    ]
    by_id = {match.id: match for match in found}
    assert by_id[2].reason == "Ünïcode “quotes” '; DROP TABLE matches"
    assert json.loads(by_id[7].versions) == {"arena": "0.1.1"}
    assert json.loads(by_id[7].fault) == {"elapsed_ms": 5101}
    assert by_id[8].values == (None, 0.25, None, -1.0)
    assert (by_id[9].actions, by_id[9].times_ms) == ((360, 255, 256, 0), (0, 0, 1 << 40, 5))
    assert sum(tally.num_matches for tally in tallies) == 10
    assert len(list(old.parent.glob("arena.db.*.bak"))) == 1


def test_tournaments_of_the_first_version_have_no_ratings_over_time(old: Path) -> None:
    with Store.open(old) as store:
        assert store.ratings.points(1) == []
        moment = store.sums.moment(1)
        assert moment is not None
        counted = [match for page in store.bulk.counted_matches(1) for match in page]
        assert (len(counted), counted[-1].id) == (moment.num_matches, moment.last_match)
        rating = SeatRating(0, 1500.0, 40.0, rests_on_prior=True)
        assert store.ratings.add_point(1, RatingPoint(moment.num_matches, moment.last_match, (rating,)))
        assert store.integrity.check() == []
    downgrade(old, "0007")
    with Store.open(old) as store:
        assert store.ratings.points(1) == []
        assert len(store.matches.newest(ALL)) == 10
        assert store.integrity.check() == []


def test_it_goes_on_where_it_was(old: Path) -> None:
    with Store.open(old) as store:
        record = store.tournaments.find("cup")
        assert record is not None
        cup = Cup(record, store.tournaments.entrants(1), store.plans.planned(1))
        repeat = cup.match(6, match_hash=cup.match(1).match_hash)
        assert store.matches.save([cup.match(1), repeat, cup.match(7)]) == 1
        assert store.plans.unplayed(1) == []
        assert store.integrity.check() == []
        assert store.commands.take(1) == [], "what was asked then is out of date"
        command = store.commands.find(1)
        assert command is not None
        assert (command.kind, command.asked_at, command.taken_at) == (
            "stop",
            1_750_000_001.0,
            1_750_000_002.0,
        )
        assert store.events.snapshot(1).seq == 0


def test_two_upgrades_in_one_second(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = time.gmtime(0)
    monkeypatch.setattr(time, "gmtime", lambda: moment)
    monkeypatch.setattr(opening, "_BACKUPS", 2)
    before = old.with_name("as it was.db")
    shutil.copy(old, before)
    for _ in range(2):
        shutil.copy(before, old)
        Store.open(old).close()
    shutil.copy(before, old)
    with pytest.raises(TakenError, match="has 2 backups from this second"):
        Store.open(old)
    backups = sorted(file.name for file in old.parent.glob("*.bak"))
    assert backups == ["arena.db.19700101-000000-2.bak", "arena.db.19700101-000000.bak"]


def test_damage_is_not_made_good(old: Path) -> None:
    with closing(find_driver().module.connect(old)) as raw:
        raw.execute("UPDATE matches SET reason = 'another' WHERE id = 2")
        raw.commit()
    with Store.open(old) as store:
        assert store.integrity.check() == ["match #2 is not as it was stored"]


def test_down_and_up_again(old: Path) -> None:
    before = everything(old)
    downgrade(old, "0001")
    with closing(find_driver().module.connect(old)) as raw:
        hashes = [text for (text,) in raw.execute("SELECT hex(record_hash) FROM matches ORDER BY id")]
    assert len(hashes) == 10
    assert all(text in SQL.read_text(encoding="utf-8") for text in hashes), "they are as they were"
    assert everything(old) == before


def test_what_0004_does_not_know(store: Store) -> None:
    """A downgrade removes the newer facts and keeps the matches; damage stays visible."""
    cup = add_cup(store)
    facts: dict[str, object] = {
        "idle_cpu_first_ms": 0.4,
        "idle_cpu_second_ms": 1145.0,
        "limits": "polled",
        "runtime_first": "python 3.11.2",
    }
    store.matches.save(
        [
            cup.match(1),
            cup.match(2, termination="pondering", **facts),
            # The same two bots with the same result, in two tallies that become one.
            cup.match(8, termination="bot_error"),
            cup.match(3, runtime_second="node 18.19.0"),
            cup.match(4, termination="pondering"),
            cup.match(5, limits="kernel"),
        ]
    )
    assert store.integrity.check() == []
    before = store.matches.newest(ALL)
    store.close()
    tamper(store.place, "UPDATE matches SET reason = 'another' WHERE number = 5")
    downgrade(store.path, "0004")
    with Store.open(store.place) as again:
        assert again.integrity.check() == ["match #6 is not as it was stored"]
        after = again.matches.newest(ALL)
    assert [match.termination for match in reversed(before)] == [
        *("rules", "pondering", "bot_error", "rules", "pondering", "rules"),
    ]
    assert after[1:] == [
        replace(
            match,
            termination=match.termination.replace("pondering", "bot_error"),
            idle_cpu_first_ms=None,
            idle_cpu_second_ms=None,
            limits="",
            runtime_first="",
            runtime_second="",
        )
        for match in before[1:]
    ]


def test_a_held_lease_was_last_renewed_a_minute_before_it_ends(store: Store) -> None:
    """Versions before 0010 stored only when a lease ends, and renewed it for a minute."""
    held, free = add_cup(store), add_cup(store, name="free")
    owner = Owner(uuid="one", host="elsewhere", boot_id="b", pid=1, pid_start=1)
    assert store.claim(held.record.id, owner, expires_s=500)
    before = store.leases.find(held.record.id)
    assert before is not None
    store.close()
    downgrade(store.path, "0009")
    with Store.open(store.place) as again:
        lease = again.leases.find(held.record.id)
        assert lease is not None
        assert (lease.owner, lease.epoch, lease.expires_at) == (owner, 0, before.expires_at)
        assert lease.beat_at == pytest.approx(before.expires_at - 60)
        assert again.leases.find(free.record.id) is None
        assert again.integrity.check() == []


def test_numbers_of_events_go_on_after_an_upgrade(tmp_path: Path) -> None:
    path = tmp_path / "arena.db"
    event = LiveEvent(tournament=1, number=None, kind="state", t=1.0)
    with Store.open(path) as store:
        add_cup(store)
        assert store.events.append([event] * 3) == {1: 3}
        with store._access.write() as connection:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - as a new owner does
            live.forget(connection, 1)
    downgrade(path, "0012")
    with Store.open(path) as store:
        assert store.events.append([replace(event, kind="voided"), replace(event, kind="entrant")]) == {1: 5}
        assert [each.seq for each in store.events.after(3, tournament=1).events] == [4, 5]
        assert store.integrity.check() == []
    downgrade(path, "0012")
    with Store.open(path) as store:
        assert store.events.append([event]) == {1: 6}
        assert store.integrity.check() == []
    downgrade(path, "0014")
    # A live event that the older version wrote, and that was not removed.
    columns, values = "tournament_id, attempt, ply, kind, payload, t", "1, 0, 0, 'state', '', 1.0"
    tamper(path, f"INSERT INTO live_events ({columns}) VALUES ({values})")  # noqa: S608 - no input
    with Store.open(path) as store:
        assert store.events.append([event]) == {1: 8}
        assert [each.seq for each in store.events.after(6, tournament=1).events] == [7, 8]
        assert store.integrity.check() == []
