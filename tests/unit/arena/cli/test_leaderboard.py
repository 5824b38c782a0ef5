"""`arena leaderboard`: pools, anchors, versions, separate tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from arena.cli.standings import print_standings
from arena.results.rated_matches import RatedMatches
from arena.results.rating_tables import Leaderboard
from arena.results.sides import GamePool
from arena_db.records import MatchFilter
from arena_db.store import Store
from stores import add_cup, digest

if TYPE_CHECKING:
    import pytest

    from command_line import CommandLine


def test_the_largest_pool_is_shown_and_the_others_are_named(played: CommandLine) -> None:
    lines = played.lines("leaderboard")
    assert lines[0] == "tic-tac-toe, 5/move in-process"
    assert lines[-1] == "Other pools (--game, --pool): tic-tac-toe (2/move in-process, 4 matches)"
    duel = played.objects("leaderboard", "--pool", "2/move in-process")
    assert [row["games"] for row in duel] == [4, 4]
    mixed = played.lines("leaderboard", "--pool", "all")
    assert mixed[0].startswith("tic-tac-toe, all (mixes pools")
    assert "Other pools" not in mixed[-1]
    assert sum(int(str(row["games"])) for row in played.objects("leaderboard", "--pool", "all")) == 32


def test_an_anchor_fixes_the_scale(played: CommandLine) -> None:
    rows = played.objects("leaderboard", "--anchor", "random=1000")
    anchor = next(row for row in rows if row["name"] == "random")
    assert (anchor["elo"], anchor["error"]) == (1000.0, 0.0)
    assert "relative to random = 1000; LOS" in played("leaderboard", "--anchor", "random=1000").stdout
    assert "relative to the mean of the table (1500); LOS" in played("leaderboard").stdout


def test_los_is_of_the_next_in_rank(played: CommandLine) -> None:
    rows = played.objects("leaderboard")
    assert [row["rank"] for row in rows] == [1, 2, 3]
    assert rows[-1]["los"] is None
    assert all(0.5 <= float(str(row["los"])) <= 1 for row in rows[:-1])


def test_rows_are_chosen_without_rating_anybody_anew(played: CommandLine) -> None:
    whole = played.objects("leaderboard")
    last = whole[-1]
    assert played.objects("leaderboard", "--bot", str(last["name"])) == [last]
    assert (last["rank"], last["num_bots"], last["num_other_pools"]) == (3, 3, 1)
    shown = played.objects("leaderboard", "--where", "bot:mini*")
    assert shown == [row for row in whole if str(row["name"]).startswith("minimax")]
    assert len(shown) == 2
    lines = played.lines("leaderboard", "--bot", "random")
    assert "1 of 3 bots are shown; ranks and ratings are those of the whole table." in lines
    assert not any(line.startswith("1 ") and "minimax" in line for line in lines)


def test_only_a_refit_rates_a_subset(played: CommandLine) -> None:
    whole = {row["name"]: row for row in played.objects("leaderboard")}
    two = ("--bot", "random", "--vs", "minimax:depth=1")
    refitted = {row["name"]: row for row in played.objects("leaderboard", "--refit", *two)}
    assert refitted.keys() == {"random", "minimax:depth=1"}
    assert {row["games"] for row in refitted.values()} == {4}
    assert all(refitted[name]["games"] != whole[name]["games"] for name in refitted)
    assert {row["num_bots"] for row in refitted.values()} == {2}


def test_a_limit_is_written_as_a_tournament_takes_it(played: CommandLine) -> None:
    assert played.lines("leaderboard", "--st", "2")[0] == "tic-tac-toe, 2/move in-process"
    assert played.lines("leaderboard", "--tc", "2/move")[0] == "tic-tac-toe, 2/move in-process"
    assert played.lines("leaderboard", "--pool", "2*")[0] == "tic-tac-toe, 2/move in-process"
    for options in (("--st", "3"), ("--tc", "10+0.1"), ("--nodes", "5"), ("--min-tier", "T1")):
        assert "no stored match fits" in played("leaderboard", *options, status=2).stderr


def test_separate_tables_keep_their_numbers(arena: CommandLine) -> None:
    with Store.open(arena.db) as store:
        for names in (("a", "b"), ("c", "d")):
            cup = add_cup(store, *names)
            store.matches.save([cup.match(number, outcome="draw") for number in (1, 2)])
    whole = arena.objects("leaderboard")
    for row in whole:
        assert arena.objects("leaderboard", "--bot", str(row["name"])) == [row]
    alone = str(whole[-1]["name"])
    assert not any("Not connected" in line for line in arena.lines("leaderboard", "--bot", alone))


def test_a_bootstrap_adds_intervals(played: CommandLine) -> None:
    rows = played.objects("leaderboard", "--bootstrap", 50)
    for row in rows:
        assert float(str(row["bootstrap_low"])) <= float(str(row["bootstrap_high"]))
    assert "Bootstrap" in played.lines("leaderboard", "--bootstrap", 50)[1]
    mixed = played.objects("leaderboard", "--bootstrap", 50, "--pool", "all")
    assert [row["bootstrap_low"] for row in mixed] != [row["bootstrap_low"] for row in rows]
    assert all(row["bootstrap_low"] is None for row in played.objects("leaderboard"))


def test_bots_that_never_met_are_in_tables_of_their_own(arena: CommandLine) -> None:
    with Store.open(arena.db) as store:
        for names in (("a", "b"), ("c", "d")):
            cup = add_cup(store, *names)
            store.matches.save([cup.match(number, outcome="draw") for number in (1, 2)])
    assert [row["table"] for row in arena.objects("leaderboard")] == [1, 1, 2, 2]
    assert "Not connected with the table above by any match:" in arena.lines("leaderboard")


def test_two_versions_of_a_bot_are_two_competitors(arena: CommandLine) -> None:
    with Store.open(arena.db) as store:
        for names in (("a", "z"), ("b", "z"), ("c", "z")):
            cup = add_cup(store, *names)
            store.matches.save([cup.match(1)])
        bots = store.names.bots()
    rows = arena.objects("leaderboard")
    assert {row["identity"] for row in rows} == set(bots)


def test_surprises_are_told(arena: CommandLine) -> None:
    """In a cycle of three bots no ratings fit."""
    with Store.open(arena.db) as store:
        cup = add_cup(store, num=120)
        outcomes = ("first", "second")
        store.matches.save(
            [
                cup.match(
                    match.number,
                    outcome=outcomes[match.match_no % 2],
                    match_hash=digest(str(match.number)),
                )
                for match in cup.plan
            ]
        )
    lines = [line for line in arena.lines("leaderboard") if line.startswith("The ratings do not describe")]
    cycle = lines[0].removeprefix("The ratings do not describe this: ").split(" > ")
    assert cycle[0] == cycle[-1]
    assert len(lines) == 4


def test_of_many_surprises_the_worst_are_told(
    capsys: pytest.CaptureFixture[str], played: CommandLine
) -> None:
    with Store.open(played.db, read_only=True) as store:
        book = RatedMatches(MatchFilter())
        book.update(store)
        board = Leaderboard(
            store.sums.pool_counts(MatchFilter()), store.names.bots(), GamePool("tic-tac-toe", "all"), book
        )
    (table,) = board.tables()
    print_standings([msgspec.structs.replace(table, misfits=tuple("abcdefgh"))], "table")
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == ["The ratings do not describe this: e", "... and 3 more."]


def test_the_scale_of_each_table_is_told(arena: CommandLine) -> None:
    with Store.open(arena.db) as store:
        for names in (("a", "b"), ("c", "d")):
            cup = add_cup(store, *names)
            store.matches.save([cup.match(number, outcome="draw") for number in (1, 2)])
    for bot in ("a", "d"):
        notes = arena("leaderboard", "--anchor", f"{bot}:playouts=100=1000").stdout
        scale = f"{bot}:playouts=100 = 1000, in a table without it to the mean (1500); LOS"
        assert f"relative to {scale}" in notes
    alone = arena("leaderboard", "--anchor", "a:playouts=100=1000", "--bot", "a").stdout
    assert "relative to a:playouts=100 = 1000; LOS" in alone
    other = arena("leaderboard", "--anchor", "a:playouts=100=1000", "--bot", "c").stdout
    assert "relative to the mean of the table (1500); LOS" in other


def test_matches_without_counterpart_are_evidence_too(arena: CommandLine) -> None:
    with Store.open(arena.db) as store:
        cup = add_cup(store, "a", "b", name="cup")
        store.matches.save([cup.match(number) for number in (1, 2, 3)])
        cup = add_cup(store, "c", "d", name="singles")
        store.matches.save([cup.match(number) for number in (1, 3)])
    assert "1 of 1 pairs, 1 single match  " in arena("show", "cup").stdout
    assert "  2 single matches  " in arena("show", "singles").stdout
