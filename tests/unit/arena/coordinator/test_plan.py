from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import arena.coordinator.plan
import strange_bots
from arena.content.store import prune
from arena.coordinator.config import parse_toml, refusals
from arena.coordinator.jobs import make_jobs
from arena.coordinator.kinds import planned_beforehand
from arena.coordinator.plan import leave_out, make_plan, store_plan
from arena.coordinator.prepare import enlarge
from arena.coordinator.restore import restore_plan
from arena.entrants import Competitor, LeftOut, resolve
from arena.errors import ArenaError, ConfigError, PluginError
from arena.executor.slots import Slot
from arena.executor.worker import SlotCallbacks, make_control, play_job
from arena.match import match_seed
from arena.sandbox.limits.cgroup import NoSubtreeError, Subtree
from arena.sandbox.tier import Tier
from arena_db.store import Store
from tournaments import TRIO, Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.coordinator.config import TournamentConfig
    from arena_db.records import BotRecord

    Begin = Callable[[TournamentConfig], Sitting]


def test_a_plan_is_what_the_options_say() -> None:
    plan = make_plan(config(*TRIO, rounds=3, srand=None, st=None, nodes=50))
    assert plan.source is not None
    assert plan.source.fixed is not None
    assert plan.source.fixed.total == 18
    assert plan.openings == ((plan.source.fixed.openings[0]),) * 3
    assert [competitor.label for competitor in plan.competitors] == list(TRIO)
    assert (str(plan.limit), plan.tier, plan.game.name) == ("50 nodes", Tier.T0, "tic-tac-toe")
    assert plan.config.srand is not None
    assert 0 <= plan.config.srand < 1 << 63
    assert plan.limit.pool(is_hosted=False).name == "50 nodes in-process"
    assert plan.limit.pool(is_hosted=True).name == "50 nodes hosted"


def test_seeds_are_drawn_anew() -> None:
    drawn = {make_plan(config("random", "mcts", srand=None)).config.srand for _ in range(5)}
    assert len(drawn) == 5


def test_a_stored_plan_comes_back(begin: Begin) -> None:
    sitting = begin(config(*TRIO[:2], "mcts:nodes=20", rounds=2, isolation="T1"))
    restored = restore_plan(sitting.store, sitting.tournament)
    plan = sitting.plan
    assert restored._replace(game=plan.game, source=plan.source) == plan
    assert restored.game.name == plan.game.name
    assert sitting.store.tournaments.entrants(sitting.tournament.id)[2].limit == "20 nodes"


def test_jobs_are_what_was_planned(begin: Begin) -> None:
    sitting = begin(config(*TRIO, rounds=2, init_time=12))
    jobs = sitting.jobs()
    assert [job.number for job in jobs] == list(range(1, 13))
    for job, match in zip(jobs, sitting.matches_planned(), strict=True):
        assert (job.first.label, job.second.label) == (TRIO[match.first], TRIO[match.second])
        assert job.seed_first == match_seed(7, match.encounter, match.match_no, 0)
        assert job.seed_second == match_seed(7, match.encounter, match.match_no, 1)
        assert (job.match, job.init_s, job.tier) == (f"rr-1/{job.number}", 12, "T0")
        assert job.opening == match.opening
    assert make_jobs(sitting.tournament, sitting.plan, sitting.matches_planned()[3:4]) == jobs[3:4]


def test_a_bot_that_changed_is_refused(begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sitting = begin(config("random", "strange"))
    restore_plan(sitting.store, sitting.tournament)
    strange_bots.install(monkeypatch, tmp_path / "newer", "2.0")
    with pytest.raises(ConfigError, match=r"strange has changed since rr-1 began: .* strange 1\.0, now 2\.0"):
        restore_plan(sitting.store, sitting.tournament)


def test_a_plan_of_an_older_arena_goes_on_under_its_own_records(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    def known_before(record: BotRecord) -> BotRecord:
        """Return the record of a bot as earlier versions stored it, without its code and weights."""
        text = json.dumps([record.spec, record.distribution, record.version, {}], sort_keys=True)
        identity = hashlib.sha256(text.encode()).hexdigest()
        return dataclasses.replace(record, identity=identity, files="{}", content="")

    resolved = resolve(["td-lambda", "random"], margin_ms=50)
    older = [msgspec.structs.replace(bot, record=known_before(bot.record)) for bot in resolved]

    def resolved_before(_specs: object, **_options: object) -> list[Competitor]:
        return older

    with monkeypatch.context() as patch:
        patch.setattr(arena.coordinator.plan, "resolve", resolved_before)
        sitting = begin(config("td-lambda", "random"))
    was = [entrant.bot for entrant in sitting.store.tournaments.entrants(sitting.tournament.id)]
    assert [bot.content for bot in was] == ["", ""]
    restored = restore_plan(sitting.store, sitting.tournament)
    assert [bot.record for bot in restored.competitors] == was
    assert restored.notes == (
        "td-lambda, random: code was not hashed when rr-1 began, so it may have changed",
    )
    assert resolve(["td-lambda"], margin_ms=0)[0].record != was[0]


HOSTED = {"isolation": "T1"}


def test_what_was_entered_is_played_whatever_has_become_of_its_files(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sitting = begin(config("random", "strange", **HOSTED))
    was = sitting.plan.competitors
    strange_bots.install(monkeypatch, tmp_path / "newer", "2.0")
    assert restore_plan(sitting.store, sitting.tournament).competitors == was
    shutil.rmtree(tmp_path / "newer")
    shutil.rmtree(tmp_path / "site")
    assert restore_plan(sitting.store, sitting.tournament).competitors == was


def test_what_is_not_kept_any_more_must_be_as_it_was(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sitting = begin(config("random", "strange", **HOSTED))
    was = sitting.plan.competitors
    prune(unused_s=0)
    again = restore_plan(sitting.store, sitting.tournament).competitors
    assert [bot.record for bot in again] == [bot.record for bot in was]
    assert all(Path(bot.place).is_dir() for bot in again)
    prune(unused_s=0)
    changed = r"has changed since rr-1 began: .*content [0-9a-f]{8}, now [0-9a-f]{8}; restore the old version"
    with monkeypatch.context() as patch:
        strange_bots.install(patch, tmp_path / "newer", "2.0")
        with pytest.raises(ConfigError, match=changed):
            restore_plan(sitting.store, sitting.tournament)
    shutil.rmtree(tmp_path / "site")
    with pytest.raises(PluginError, match=r"strange of rr-1 cannot be found again: no bot \"strange\""):
        restore_plan(sitting.store, sitting.tournament)


def test_a_bot_that_is_gone_is_refused(begin: Begin, tmp_path: Path) -> None:
    sitting = begin(config("random", "strange"))
    shutil.rmtree(tmp_path / "site")
    with pytest.raises(PluginError, match='no bot "strange"'):
        restore_plan(sitting.store, sitting.tournament)


def test_files_are_found_from_any_folder(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Path("weights.bin").write_bytes(b"one")
    sitting = begin(config("random", "strange:folder=weights.bin"))
    monkeypatch.chdir(tmp_path)
    restored = restore_plan(sitting.store, sitting.tournament)
    assert restored.competitors[1].options_here() == {"folder": str(tmp_path / "here" / "weights.bin")}
    assert restored.competitors[1].label == "strange:folder=weights.bin"
    (tmp_path / "here" / "weights.bin").write_bytes(b"two")
    with pytest.raises(ConfigError, match=r"strange:folder=weights\.bin has changed since rr-1 began"):
        restore_plan(sitting.store, sitting.tournament)


def test_twins_come_back_as_twins(begin: Begin) -> None:
    sitting = begin(config("mcts", "mcts", type="match"))
    restored = restore_plan(sitting.store, sitting.tournament)
    assert [competitor.label for competitor in restored.competitors] == ["mcts", "mcts_2"]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"games": 1},
        {"type": "gauntlet"},
        {"openings": "none"},
        {"game": "gomoku:size=6,k=4", "openings": "auto:plies=2"},
    ],
)
def test_more_rounds_only_append(begin: Begin, changes: dict[str, Any]) -> None:
    sitting = begin(config(*TRIO, rounds=2, **changes))
    before = sitting.matches_planned()
    sitting.play()
    enlarge(sitting.store, sitting.tournament, sitting.plan, 5)
    tournament = sitting.store.tournaments.find(sitting.tournament.id)
    assert tournament is not None
    assert restore_plan(sitting.store, tournament).config.rounds == 5
    assert (tournament.is_planned, tournament.num_total) == (False, len(before) * 5 // 2)
    assert sitting.play().state == "finished"
    after = sitting.matches_planned()
    assert len(after) * 2 == len(before) * 5
    assert after[: len(before)] == before
    whole = make_plan(config(*TRIO, rounds=5, **changes)).source
    assert whole is not None
    assert after == list(planned_beforehand(whole, 3))
    assert [len(batch) for batch in sitting.batches()] == [len(before), len(after) - len(before)]


def test_a_finished_tournament_can_be_enlarged(begin: Begin) -> None:
    sitting = begin(config(*TRIO))
    sitting.play()
    enlarge(sitting.store, sitting.tournament, restore_plan(sitting.store, sitting.tournament), 2)
    assert (sitting.play().state, len(sitting.results())) == ("finished", 12)
    assert sitting.store.integrity.check() == []


def test_it_cannot_shrink(begin: Begin) -> None:
    sitting = begin(config(*TRIO, rounds=2))
    with pytest.raises(ConfigError, match="rr-1 has 2 rounds already; give --rounds more than that"):
        enlarge(sitting.store, sitting.tournament, sitting.plan, 2)


def test_other_openings_are_refused(begin: Begin, tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    book.write_text("a1 a2\nb3 c3\n")
    sitting = begin(config(*TRIO, rounds=2, openings=f"file:{book}"))
    book.write_text("b2 a2\nb3 c3\n")
    with pytest.raises(ConfigError, match="the openings of rr-1 have changed since it began"):
        enlarge(sitting.store, sitting.tournament, sitting.plan, 3)
    assert len(sitting.store.plans.planned(sitting.tournament.id)) == 12


def test_tiers() -> None:
    assert make_plan(config(*TRIO, isolation="T1", require_tier="T1")).tier == "T1"
    with pytest.raises(ArenaError, match=r"tier T1 is required, .* --require-tier T0 accepts that"):
        make_plan(config(*TRIO, require_tier="T1"))
    with pytest.raises(ArenaError, match=r"tier T2 is required for strange, .* bots would run in T0"):
        make_plan(config("random", "strange", require_tier=None))
    assert make_plan(config(*TRIO, require_tier=None)).tier == "T0"


def test_limits_that_are_required_and_not_available_fail_closed(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    available: list[Subtree | NoSubtreeError] = [NoSubtreeError("memory is missing")]

    def find(_: int) -> Subtree | NoSubtreeError:
        return available[0]

    monkeypatch.setattr("arena.sandbox.limits.exact._find", find)
    exact = config(*TRIO, isolation="T1", require_tier="T1", require_limits="kernel")
    with pytest.raises(ArenaError, match=r"--require-limits kernel: .* memory is missing; exact ones"):
        make_plan(exact)
    with pytest.raises(ConfigError, match="no limits; leave out --isolation none"):
        make_plan(config(*TRIO, require_limits="kernel"))
    assert make_plan(msgspec.structs.replace(exact, require_limits="polled")).tier == "T1"
    available.insert(0, Subtree(Path("/")))
    sitting = begin(exact)
    (job, *_) = make_jobs(sitting.tournament, sitting.plan, sitting.matches_planned())
    assert job.require_limits == "kernel"
    # A run that is resumed elsewhere is refused too, and so is each of its workers.
    del available[0]
    with pytest.raises(ArenaError, match="--require-limits kernel"):
        restore_plan(sitting.store, sitting.tournament)
    record = play_job(job, make_control(SlotCallbacks(Slot.here(0))))
    assert (record.outcome, record.termination) == ("void", "arena_error")
    assert "--require-limits kernel" in record.fault


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        (config("random"), ConfigError),
        (config("random", "random"), ConfigError),
        (config("random", "mtcs"), PluginError),
        (config(*TRIO, game="chess"), PluginError),
        (config(*TRIO, rounds=0), ConfigError),
        (config(*TRIO, tc="1+1"), ConfigError),
        (config(*TRIO, openings="nonsense"), ConfigError),
    ],
)
def test_what_cannot_be_held(settings: TournamentConfig, error: type[ArenaError]) -> None:
    with pytest.raises(error):
        make_plan(settings)


def test_the_stored_configuration_is_the_whole_truth(begin: Begin) -> None:
    sitting = begin(config(*TRIO, rounds=2, event="Cup", site="Here", name="cup"))
    assert (sitting.tournament.name, sitting.tournament.event, sitting.tournament.site) == (
        "cup",
        "Cup",
        "Here",
    )
    restored = restore_plan(sitting.store, sitting.tournament)
    assert restored.config == msgspec.structs.replace(sitting.plan.config)


def test_refused_bots_are_stored_cleaned_and_kept_when_rounds_are_added(tmp_path: Path) -> None:
    plan = make_plan(config(*TRIO, rounds=1))
    plan = leave_out(plan, [LeftOut(1, "evil\x1b[2J", f"it said\n{'x' * 2000}")])
    with Store.open(tmp_path / "arena.db") as store:
        record = store_plan(store, plan)
        (told,) = refusals(record.config)
        assert told == ("evil[2J", f"it said {'x' * 992}")
        enlarge(store, record, restore_plan(store, record), rounds=2)
        stored = store.tournaments.find(record.id)
        assert stored is not None
        assert refusals(stored.config) == (told,)
        # A new tournament may start from this configuration, with other refused bots or none.
        again = parse_toml(stored.config, "cup.toml")
        assert (again.rounds, again.refused) == (2, (told,))
        assert make_plan(again).config.refused == ()


def test_the_first_bots_run_the_gauntlet_whoever_is_left_out() -> None:
    plan = make_plan(config("mcts", "random", "minimax", "mcts:playouts=5", type="gauntlet", seeds=2))
    refused = LeftOut(1, "random", "it hangs")
    left = leave_out(plan, [refused])
    assert [bot.label for bot in left.competitors] == ["mcts", "minimax", "mcts:playouts=5"]
    assert left.source is not None
    assert {(match.first, match.second) for match in planned_beforehand(left.source, 3)} == {
        (0, 1),
        (1, 0),
        (0, 2),
        (2, 0),
    }
    assert (left.config.seeds, left.config.bots, left.left_out) == (
        1,
        ("mcts", "minimax", "mcts:playouts=5"),
        (refused,),
    )
    assert leave_out(plan, [LeftOut(2, "minimax", "")]).config.seeds == 2
    with pytest.raises(ConfigError, match=r"too few seeds are left .* random: it hangs; mcts: too"):
        leave_out(plan, [refused, LeftOut(0, "mcts", "too")])
    assert leave_out(plan, []) is plan
