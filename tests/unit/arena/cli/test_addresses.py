"""Every command that accepts a match accepts each form of its address."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from arena.live.events import Move, Started, kind_of, pack
from arena.results.names import naming_of
from arena_db.owner import current_owner
from arena_db.records import Entrant, LiveEvent
from arena_db.store import Store
from command_line import FAST
from stores import Cup, bot, new_tournament, plan

if TYPE_CHECKING:
    from command_line import CommandLine

FORMS = ("spring/3", "spring/3.0")


def number(arena: CommandLine) -> int:
    """Return the id of the third match of `spring`."""
    (found,) = [match["id"] for match in arena.objects("matches") if match["address"] == "spring/3"]
    assert isinstance(found, int)
    return found


def forms(arena: CommandLine) -> list[str]:
    return [*FORMS, str(number(arena)), f"#{number(arena)}"]


@pytest.mark.parametrize("command", ["show", "replay", "logs", "verify", "watch"])
def test_all_forms_of_a_match_give_the_same(played: CommandLine, command: str) -> None:
    found = {form: played(command, form).stdout for form in forms(played)}
    assert len(set(found.values())) == 1
    if command != "logs":
        assert "spring/3" in found["spring/3"]
        assert "#" not in found["spring/3"].splitlines()[0]


def test_a_position(played: CommandLine) -> None:
    assert "after ply 2 of" in played("show", "spring/3:2").stdout
    lines = played("replay", "spring/3:2", "--plain").stdout.splitlines()
    (only,) = [line for line in lines if line.startswith("ply ")]
    assert only.startswith("ply 2: ")
    assert "it has" in played("show", "spring/3:99", status=2).stderr


def test_a_page_of_matches_goes_on_behind_an_address(played: CommandLine) -> None:
    assert played.objects("matches", "--before", "spring/3") == played.objects(
        "matches", "--before", number(played)
    )


@pytest.mark.parametrize("command", ["show", "crosstable", "watch", "logs"])
def test_a_tournament_by_the_address_of_a_screen(played: CommandLine, command: str) -> None:
    assert played(command, "spring/table").stdout == played(command, "spring").stdout


@pytest.mark.parametrize("command", ["show", "replay", "logs", "verify", "watch"])
def test_a_wrong_address_is_named_with_the_nearest(played: CommandLine, command: str) -> None:
    line = played(command, "sprin/3", status=2).stderr
    assert line.startswith('arena: no tournament "sprin"; did you mean "spring"?')


def test_a_match_before_and_while_it_is_played(arena: CommandLine) -> None:
    bots = ("random", "minimax:depth=1")
    arena("match", *bots, *FAST, "--rounds", 1, "--openings", "none", "--name", "m", "--srand", 1)
    with Store.open(arena.db) as store:
        record = store.tournaments.find("m")
        assert record is not None
        planned = replace(store.plans.planned(record.id)[0], number=3, match_no=2, opening=(4,))
        store.plans.extend(record.id, [planned], record.config)
    shown = arena.lines("show", "m/3")
    assert shown[0] == "m/3 tic-tac-toe  random (X) vs minimax:depth=1 (O)  planned"
    assert shown[-1] == "moves b2"
    assert "m/3 has no result yet; arena watch m/3" in arena("replay", "m/3", status=2).stderr
    owner = current_owner()
    with Store.open(arena.db) as store:
        held = store.claim(record.id, owner)
        assert held is not None
        begin = Started(bots=bots, game="tic-tac-toe", opening=(4,))
        for ply, body in ((1, begin), (2, Move(action=0)), (3, Move(action=8))):
            store.events.append([_event(record.id, body, ply)])
        shown = arena.lines("show", "m/3:2")
        assert shown[0].endswith("running")
        assert shown[-1] == "moves b2 a3"
        (found,) = arena.objects("show", "m/3")
        assert (found["state"], found["actions"], found["address"]) == ("running", [4, 0, 8], "m/3")
        assert "it has 3 so far" in arena("show", "m/3:4", status=2).stderr
        cup = Cup(record, store.tournaments.entrants(record.id), store.plans.planned(record.id))
        void = replace(cup.void(3), actions=(4,), num_opening=1, times_ms=(0,), values=(None,))
        store.matches.save([void])
        store.events.append([replace(_event(record.id, begin, 4), attempt=1)])
        assert arena.lines("show", "m/3")[0].endswith("running"), "once more"
        assert arena.lines("show", "m/3.0")[0].endswith("  *")
        held.leases.release()
    assert arena.lines("show", "m/3")[0].endswith("  *"), "nobody plays it"


def _event(tournament: int, body: Started | Move, ply: int) -> LiveEvent:
    return LiveEvent(
        tournament=tournament, number=3, kind=kind_of(body), payload=pack(body), t=1.0, attempt=0, ply=ply
    )


def test_what_a_bot_printed_by_its_identity(played: CommandLine) -> None:
    with Store.open(played.db, read_only=True) as store:
        record = store.tournaments.find("spring")
        assert record is not None
        entrant = store.tournaments.entrants(record.id)[0]
    for text in (entrant.label, entrant.bot.spec, f"~{entrant.bot.identity[:8]}", "r*"):
        played("logs", "spring", "--bot", text)
    assert "no bot" in played("logs", "spring", "--bot", "~000000", status=2).stderr


@pytest.fixture
def alike(arena: CommandLine) -> CommandLine:
    """Return a command line whose store holds three bots of one spec, two of one version."""
    versions = ("0.1.0", "0.1.0", "0.2.0")
    bots = [bot("mcts", identity=f"{n}{n + 1}" * 32, version=version) for n, version in enumerate(versions)]
    names = ("old", "mcts:playouts=100", "mcts:playouts=100_2")
    seats = [
        Entrant(seat=n, label=name, bot=each, limit="")
        for n, (name, each) in enumerate(zip(names, bots, strict=True))
    ]
    with Store.open(arena.db) as store:
        matches = plan(3, 12)
        cup = Cup(store.tournaments.add(new_tournament(name="cup"), seats, matches), seats, matches)
        store.matches.save([cup.match(number) for number in range(1, 13)])
    return arena


def _bots(arena: CommandLine, *words: str) -> set[str]:
    """Return the identities of the bots that play in all found matches."""
    found = [
        {match["first_identity"], match["second_identity"]} for match in arena.objects("matches", *words)
    ]
    assert found
    return {str(identity) for identity in set[object].intersection(*found)}


def test_what_tables_call_a_bot_can_be_typed(alike: CommandLine) -> None:
    rows = alike.objects("leaderboard")
    assert len({row["name"] for row in rows}) == 3
    for row in rows:
        name, identity = str(row["name"]), str(row["identity"])
        for text in (name, f"~{identity[:6]}", f"mcts~{identity[:4]}", f"mcts:playouts=100~{identity}"):
            assert alike.objects("leaderboard", "--bot", text) == [row]
            assert _bots(alike, "--bot", text) == {identity}
            others = _bots(alike, "--vs", text, "--where", "bot:mcts")
            assert others == {identity}, "all bots are an mcts"
    assert _bots(alike, "--bot", "mcts@0.2.0") == {"23" * 32}
    assert "no stored match of a bot" in alike("matches", "--bot", "mcts~ffff", status=2).stderr


def test_what_screens_call_a_bot_can_be_typed(alike: CommandLine) -> None:
    with Store.open(alike.db, read_only=True) as store:
        record = store.tournaments.find("cup")
        assert record is not None
        naming = naming_of(store, record)
    assert len(set(naming.bots.values())) == 3
    for identity, label in naming.bots.items():
        assert _bots(alike, "--bot", label) == {identity}
        assert _bots(alike, "--bot", label, "--tournament", "cup") == {identity}
        (row,) = alike.objects("leaderboard", "--bot", label)
        assert row["identity"] == identity
        alike("logs", "cup", "--bot", label)
        alike("export", f"{identity[:4]}.pgn", "--format", "pgn", "--bot", label)
