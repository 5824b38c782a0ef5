"""The data of screens 5, 7 and 8: bots, tournaments with estimates, exports; from stores and metadata."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from arena.coordinator.kinds import planned_beforehand
from arena.coordinator.plan import make_plan
from arena.entrants import resolve
from arena.errors import ArenaError, ConfigError
from arena.executor.checked import Checked, keep
from arena.live.bot_views import BotsView
from arena.live.forms import ExportForm
from arena.live.tournament_views import TournamentForm, TournamentRow, command_line
from arena.schedules.knockout import KnockoutSchedule
from arena.schedules.swiss import SwissSchedule
from arena.tui.forms.tournament_form import config_of, estimate, installed_bots
from arena.tui.screens import export_screen
from arena.tui.screens.export_screen import export_words, preview, preview_line
from arena.watching.bots_source import read_bots, read_status
from arena.watching.query import Queries, Query
from arena.watching.query_answers import Answer, Rows
from arena.watching.stored import finished_of, recorded_of, row_of
from arena.watching.tournament_list import read_tournaments
from arena_db.owner import current_owner
from arena_db.records import MatchFilter
from arena_db.store import Store
from arena_plugins.entries import Entry, make_listing
from command_line import CommandLine
from live_samples import EVIL
from schedules import SimulatedEvent, play_all
from stores import add_cup, tamper

if TYPE_CHECKING:
    from pathlib import Path


def bots_of(path: str) -> BotsView:
    """Return the bots of a store and of this environment."""
    queries, found = Queries(path), list[Answer[BotsView]]()
    queries.ask(queries.new(), read_bots, found.append)
    (answer,) = found
    assert isinstance(answer, Rows)
    return answer.content


def tournaments_of(path: str) -> list[TournamentRow]:
    """Return the tournaments of a store."""
    answer = read_tournaments(Query(path))
    assert isinstance(answer, Rows)
    return answer.content


QUICK = TournamentForm(bots="random minimax:depth=1 mcts:playouts=20", game="tic-tac-toe", isolation="none")


@pytest.fixture
def faulty(tmp_path: Path) -> str:
    """Return a store in which bot `b` forfeits several matches."""
    path = tmp_path / "faulty.db"
    with Store.open(path) as store:
        cup = add_cup(store, "a", "b", num=24, name="cup")
        seats = [cup.entrants[planned.first].label for planned in cup.plan]
        store.matches.save(
            [
                cup.match(
                    number,
                    outcome="second" if seats[number - 1] == "b" else "first",
                    termination="crash" if number < 5 else "time_move",
                )
                for number in range(1, 23)
            ]
        )
        store.matches.save([cup.void(23)])
    return str(path)


def test_bots_that_have_played_are_told_of_with_their_faults(faulty: str) -> None:
    view = bots_of(faulty)
    rows = {row.name: row for row in view.rows}
    assert rows["b"].kind == "not installed"
    assert rows["b"].games == 22
    assert dict(rows["b"].competitors[0].faults) == {"crash": 4, "time_move": 18}
    assert rows["b"].quarantined == ("cup",)
    assert rows["a"].num_faults == 0
    assert rows["mcts"].place == "environment"
    assert rows["mcts"].kind == "..."
    assert [row.name for row in view.rows][-2:] == ["a", "b"], "those that are gone come last"


def test_without_a_store_the_installed_bots_are_there(tmp_path: Path) -> None:
    view = bots_of(str(tmp_path / "none.db"))
    assert view.trouble == "", "where nothing has been played there is nothing to miss"
    assert "random" in {row.name for row in view.rows}


def test_duplicates_and_bad_names_are_rows(faulty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    offered = [
        Entry("twin", "one.bot", "one", "1.0"),
        Entry("twin", "two.bot", "two", "2.0", "/shelf/two/lib"),
        *(Entry(name, name, name, name) for name in EVIL),
    ]
    monkeypatch.setattr("arena.shelf.listing.list_bots", lambda: make_listing(offered))
    view = bots_of(faulty)
    twins = [row for row in view.rows if row.name == "twin"]
    assert [(row.kind, row.distribution, row.place) for row in twins] == [
        ("twice", "one", "environment"),
        ("twice", "two", "folder"),
    ]
    assert "offered by one 1.0 (one.bot) and two 2.0" in twins[0].status
    assert sum(row.kind == "bad name" for row in view.rows) == len(EVIL)
    texts = [text for row in view.rows for text in (row.name, row.status, row.version, row.entry)]
    assert all(text.isprintable() for text in texts)


def test_checks_are_told_of_till_the_bot_changes(faulty: str) -> None:
    identity = resolve(["random"], margin_ms=0)[0].record.identity
    now = Checked(bot="random", identity=identity, game="tic-tac-toe", t=5.0, num_passed=12, failed=())
    keep(now)
    keep(replace(now, bot="minimax:depth=1", identity="another", failed=("4 no",)))
    keep(replace(now, bot="mcts:file=gone", identity="another"))
    rows = {row.name: row for row in bots_of(faulty).rows}
    assert rows["random"].checks[0].result == "12/12"
    assert rows["minimax"].checks[0].result == "FAIL 12/13 old"
    assert rows["mcts"].checks[0].is_outdated


def test_what_loading_said_is_read_line_by_line() -> None:
    lines = [
        '{"type":"bot","name":"mcts","entry":"e","distribution":"d","status":"ok","version":"1"}',
        "a warning",
        '{"name": 7}',
        '{"name":"evil","entry":"e","distribution":"d","status":"\\u001b[31mno"}',
    ]
    assert read_status(lines) == {("mcts", "e", "d"): "ok", ("evil", "e", "d"): "[31mno"}


def test_tournaments_are_listed_with_their_states(shown_store: Path, faulty: str) -> None:
    duel, spring = tournaments_of(str(shown_store))
    assert (spring.name, spring.state, spring.done, spring.planned) == ("spring", "finished", 24, 24)
    assert (duel.type, duel.game, duel.tc, len(duel.bots)) == ("match", "tic-tac-toe", "5/move", 2)
    (cup,) = tournaments_of(faulty)
    assert cup.state == "left", "it is being played, and nobody plays it"
    assert (cup.can_resume, cup.resume_words()) == (True, ["resume", "--", cup.name])
    with Store.open(faulty) as store:
        assert store.claim(cup.id, current_owner())
        assert tournaments_of(faulty)[0].state == "running"
        tamper(store.path, "UPDATE leases SET beat_at = beat_at - 31")
    (cup,) = tournaments_of(faulty)
    assert (cup.state, cup.state_text, cup.can_resume) == ("silent", "silent", True)
    assert cup.resume_words() == ["resume", "--take-over", "--", cup.name]
    with pytest.raises(ArenaError):
        tournaments_of("/no/such/store.db")


def test_an_estimate_goes_by_stored_matches(shown_store: Path) -> None:
    found = estimate(Query(str(shown_store)), QUICK)
    assert (found.matches, found.num_pairs, found.num_known, found.is_bound) == (60, 3, 3, False)
    assert found.num_stored == 12 + 2, "those of spring in which a fourth bot played tell nothing"
    assert found.seconds is not None
    assert 0 < found.seconds < 60
    new = replace(QUICK, bots="random minimax:depth=3", rounds="1", games="1")
    assert (
        estimate(Query(str(shown_store)), new).matches,
        estimate(Query(str(shown_store)), new).num_known,
    ) == (1, 0)


def test_an_estimate_without_matches_goes_by_the_clocks(tmp_path: Path) -> None:
    store = str(tmp_path / "none.db")
    by_move = estimate(Query(store), replace(QUICK, bots="random mcts", rounds="1", st="2", concurrency="2"))
    assert by_move.is_bound
    assert by_move.seconds == 2 * 9 * 2 / 2, "two matches of nine moves, two at once"
    by_clock = estimate(
        Query(store), replace(QUICK, bots="random mcts", rounds="1", tc="60+1", concurrency="1")
    )
    assert by_clock.seconds == 2 * (120 + 9)
    assert estimate(Query(store), replace(QUICK, bots="random mcts", nodes="5")).seconds is not None


THREE = "random minimax:depth=1 mcts:playouts=20"
FOUR = f"{THREE} minimax:depth=2"


@pytest.mark.parametrize(
    ("bots", "form", "is_least"),
    [
        (THREE, {"type": "swiss", "rounds": "2"}, False),
        (FOUR, {"type": "swiss", "rounds": "3", "pairs": "2"}, False),
        (THREE, {"type": "knockout", "tie_pairs": "0"}, False),
        (THREE, {"type": "knockout", "tie_pairs": "0", "elimination": "third place"}, False),
        (FOUR, {"type": "knockout", "tie_pairs": "0", "elimination": "third place", "pairs": "3"}, False),
        (THREE, {"type": "knockout", "tie_pairs": "0", "elimination": "double"}, True),
        (FOUR, {"type": "knockout", "elimination": "double"}, True),
    ],
)
def test_an_event_has_as_many_matches_as_its_schedule_plans(
    bots: str, form: dict[str, str], *, is_least: bool
) -> None:
    asked = replace(QUICK, bots=bots, **form)
    found = estimate(Query(None), asked)
    config = config_of(asked)
    num = len(bots.split())
    schedule = (
        SwissSchedule(rounds=config.rounds, pairs=config.encounter_pairs, seed=1, openings=[()])
        if config.type == "swiss"
        else KnockoutSchedule(
            num_bots=num,
            pairs=config.encounter_pairs,
            openings=[()],
            third_place=config.third_place,
            is_double=config.double,
        )
    )
    # The lower seat wins all its matches: no encounter is level, and no second final is needed.
    event = SimulatedEvent(schedule, num)
    play_all(event, 256, lambda _: 1.0)
    assert (found.matches, found.is_least) == (len(event.plan), is_least)


def test_of_a_ladder_and_a_test_it_says_what_ends_them() -> None:
    ladder = estimate(Query(None), replace(QUICK, type="ladder", name="weekly", until="20"))
    assert (ladder.matches, ladder.note) == (None, "it plays until every rating is within 20 Elo")
    assert (
        estimate(Query(None), replace(QUICK, type="ladder", name="w")).note == "it plays until it is stopped"
    )
    form = TournamentForm(type="test", bots="minimax:depth=2 random", isolation="none", pairs="300")
    found = estimate(Query(None), form)
    assert "at most 300" in found.note
    assert found.matches is not None
    assert 2 * 32 < found.matches <= 2 * (300 + 32)
    with pytest.raises(ArenaError, match="openings"):
        estimate(Query(None), replace(form, game="tic-tac-toe"))


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("bots", "no-such random", "no-such"),
        ("bots", "random random", "twice"),
        ("bots", "random", "two bots"),
        ("game", "chess-960", "chess-960"),
        ("rounds", "0", "rounds"),
        ("rounds", "many", "whole number"),
        ("st", "x", "seconds"),
        ("tc", "1:2:3", "1:2:3"),
        ("type", "match", "match"),
        ("games", "3", "games"),
        ("bots", "random minimax:depht=2", 'minimax has no option "depht"; did you mean "depth"'),
        ("bots", "random minimax:depth=0", "depth=0 is not a whole number"),
    ],
)
def test_what_cannot_be_held_is_refused_with_a_reason(field: str, value: str, why: str) -> None:
    with pytest.raises(ArenaError, match=why):
        estimate(Query(None), replace(QUICK, **{field: value}))


def test_the_user_s_own_settings_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "arena.toml"
    own.write_text('rounds = 3\nst = 9.0\nname = "x"\n', encoding="utf-8")
    monkeypatch.setenv("ARENA_CONFIG", str(own))
    config = config_of(QUICK)
    assert (config.rounds, config.st) == (3, 9.0)
    assert config_of(replace(QUICK, tc="60")).st is None


@pytest.mark.parametrize(
    "form",
    [
        QUICK,
        replace(QUICK, type="gauntlet", rounds="3", games="1", st="0.5", name="g-1", concurrency="1"),
        replace(QUICK, bots="random minimax:depth=2", type="match", openings="none", tc="60+0.5"),
    ],
)
def test_the_line_gives_the_plan_of_the_form(form: TournamentForm, tmp_path: Path) -> None:
    arena = CommandLine(tmp_path)
    line = command_line(replace(form, more="--srand 7 --require-tier T0").words(), str(arena.db))
    words = shlex.split(line)[1:]
    found = arena.objects(words[0], "--dry-run", *words[1 : -_num_bots(form) - 1], *words[-_num_bots(form) :])
    plan = make_plan(replace(config_of(form), srand=7, require_tier="T0"))
    labels = [competitor.label for competitor in plan.competitors]
    assert plan.source is not None
    assert [(match["first"], match["second"], match["actions"]) for match in found] == [
        (labels[match.first], labels[match.second], list(match.opening))
        for match in planned_beforehand(plan.source, len(labels))
    ]


def _num_bots(form: TournamentForm) -> int:
    return len(form.bot_specs())


def test_installed_bots_are_named() -> None:
    assert {"random", "mcts"} <= set(installed_bots().split())


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("", []),
        ("bot:az  result:draw ply<20", ["--where=bot:az result:draw ply<20"]),
        ("bot:'a b' date>=2026-01-31", ["--where=bot:'a b' date>=2026-01-31"]),
    ],
)
def test_a_filter_becomes_an_option(typed: str, words: list[str]) -> None:
    assert export_words(ExportForm(out="x", filter=typed)) == ["export", "--format=npz", *words, "--", "x"]


def test_a_preview_counts_what_the_store_has(shown_store: Path) -> None:
    form = ExportForm(out="x", filter="bot:random", limit="4")
    assert export_words(form) == ["export", "--format=npz", "--where=bot:random", "--limit=4", "--", "x"]
    found = preview(Query(str(shown_store)), form)
    assert (found.num_matches, found.games, len(found.newest)) == (4, ("tic-tac-toe",), 4)
    assert found.num_positions > 4 * 4
    assert preview_line(found.newest[0]).startswith("duel/2 ")
    whole = preview(Query(str(shown_store)), ExportForm())
    with Store.open(shown_store, read_only=True) as store:
        assert whole.num_matches == len(store.matches.newest(MatchFilter(), limit=100))


@pytest.mark.parametrize(
    "form", [ExportForm(limit="0"), ExportForm(limit="x"), ExportForm(filter="colour:red")]
)
def test_a_form_that_cannot_be_exported_is_refused(shown_store: Path, form: ExportForm) -> None:
    with pytest.raises(ConfigError):
        preview(Query(str(shown_store)), form)


def test_a_preview_shows_the_newest_matches_of_the_export_behind_any_number_of_forfeits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_screen, "_PAGE", 3)
    path = tmp_path / "arena.db"
    with Store.open(path) as store:
        cup = add_cup(store, "a", "b", num=20)
        good = [cup.match(number) for number in range(1, 8)]
        store.matches.save(
            [*good, *(cup.match(number, termination="crash") for number in range(8, 19)), cup.void(19)]
        )
    found = preview(Query(str(path)), ExportForm(limit="5"))
    assert (found.num_matches, [row.stored for row in found.newest]) == (5, [7, 6, 5, 4, 3])
    every = preview(Query(str(path)), ExportForm(unrated="on", forfeits="on"))
    assert (every.num_matches, [row.stored for row in every.newest]) == (18, list(range(18, 0, -1)))


def test_few_matches_take_as_long_as_one(tmp_path: Path) -> None:
    form = replace(QUICK, bots="random mcts", rounds="1", games="1", st="2", concurrency="2")
    assert estimate(Query(str(tmp_path / "none.db")), form).seconds == 2 * 9


def test_a_void_match_says_so_in_lists_and_replays(tmp_path: Path) -> None:
    with Store.open(tmp_path / "arena.db", fast=True) as store:
        cup = add_cup(store, num=4)
        store.matches.save([cup.match(1), cup.match(2)])
        store.changes.void([1], reason="an engine helped", who="u@h")
        void, fair = (store.matches.find(number) for number in (1, 2))
    assert void is not None
    assert fair is not None
    assert [(row.end, row.termination) for row in map(row_of, (void, fair))] == [
        ("void", "rules"),
        ("rules", "rules"),
    ]
    assert (finished_of(void, {}).why, finished_of(fair, {}).why) == (
        f"void (an engine helped): {fair.reason}",
        "rules",
    )
    assert recorded_of(void, {}, None).reason == f"void (an engine helped): {fair.reason}"
    assert recorded_of(fair, {}, None).reason == fair.reason
