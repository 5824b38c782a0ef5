"""Stored matches as PGN and SGF."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.errors import ConfigError, ExportError
from arena.export.match_notation import MatchWriter, check_replaceable, export_matches, rewrite_matches
from arena.export.match_selection import ExportQuery
from arena.export.pgn import MoveComment, parse_pgn
from arena.export.sgf import parse_sgf
from arena_db.records import MatchFilter
from arena_db.store import Store
from exports import EVERYTHING, OPENING, fill
from stores import add_cup

if TYPE_CHECKING:
    from pathlib import Path

ALL = ExportQuery(where=MatchFilter())


def test_pgn_says_what_the_store_says(tmp_path: Path) -> None:
    fill(tmp_path / "arena.db", num=5, event="Spring", site="Here")
    out = tmp_path / "out.pgn"
    told: list[tuple[int, int, int]] = []

    def note(done: int, total: int, actions: int) -> None:
        told.append((done, total, actions))

    with Store.open(tmp_path / "arena.db", read_only=True) as store:
        num, size = export_matches(store, ALL, "pgn", out, progress=note)
        stored = sorted(store.matches.newest(EVERYTHING), key=lambda match: match.id)
    assert (num, size) == (5, out.stat().st_size)
    assert told == [(5, 5, sum(len(match.actions) for match in stored))]
    read = list(parse_pgn(out.read_text(encoding="utf-8")))
    for match, said in zip(stored, read, strict=True):
        assert (said.event, said.site, said.match_id, said.round) == (
            "Spring",
            "Here",
            match.id,
            str(match.number),
        )
        assert (said.white, said.black) == (
            f"{match.first_label}:playouts=100",
            f"{match.second_label}:playouts=100",
        )
        assert said.result == {"first": "1-0", "second": "0-1", "draw": "1/2-1/2"}[match.outcome]
        assert (said.date, said.time_control, said.termination) == ("2025.06.15", "5/move", "normal")
        assert [int(move) - 1 for move in said.moves] == list(match.actions)
        assert said.opening == " ".join(said.moves[:OPENING])
        assert said.remarks[:OPENING] == (None,) * OPENING
        for remark, value, time in zip(said.remarks, match.values, match.times_ms, strict=True):
            assert remark is None or remark == MoveComment(None if value is None else round(value, 4), time)


def test_names_are_labels_within_a_tournament(tmp_path: Path) -> None:
    fill(tmp_path / "arena.db", num=2)
    with Store.open(tmp_path / "arena.db", read_only=True) as store:
        for tournament, names in (("rr-1", ("a", "b")), ("rr-*", ("a:playouts=100", "b:playouts=100"))):
            out = tmp_path / f"{names[0]}.pgn"
            export_matches(store, ExportQuery(where=MatchFilter(tournament=tournament)), "pgn", out)
            first = next(parse_pgn(out.read_text(encoding="utf-8")))
            assert (first.white, first.black) == names


def test_over_several_tournaments_one_name_is_one_competitor(tmp_path: Path) -> None:
    with Store.open(tmp_path / "arena.db") as store:
        for names in (("a/x", "b/y"), ("b/x", "a/y")):
            cup = add_cup(store, *names)
            store.matches.save([cup.match(1)])
        identities = {match.id: match.first for match in store.matches.newest(EVERYTHING)}
        export_matches(store, ExportQuery(where=MatchFilter(tournament="rr-*")), "pgn", tmp_path / "out")
    read = list(parse_pgn((tmp_path / "out").read_text(encoding="utf-8")))
    assert len({identities[match.match_id] for match in read}) == len({match.white for match in read}) == 2
    assert (read[0].white, read[0].black) == (read[1].black, read[1].white)


@pytest.mark.parametrize("spec", ["gomoku:k=4,size=6", "tic-tac-toe"])
def test_sgf_says_what_the_store_says(tmp_path: Path, spec: str) -> None:
    game = fill(tmp_path / "arena.db", spec, num=5)
    with Store.open(tmp_path / "arena.db", read_only=True) as store:
        export_matches(store, ALL, "sgf", tmp_path / "out")
        stored = sorted(store.matches.newest(EVERYTHING), key=lambda match: match.id)
    read = list(parse_sgf((tmp_path / "out").read_text(encoding="utf-8")))
    for match, said in zip(stored, read, strict=True):
        assert (said.game, said.size, said.match_id) == (spec, game.shape[0], match.id)
        assert said.actions == match.actions
        assert said.result == {"first": "B+", "second": "W+", "draw": "0"}[match.outcome]


def test_sgf_is_not_for_every_game(tmp_path: Path) -> None:
    fill(tmp_path / "arena.db", num=2)
    with Store.open(tmp_path / "arena.db", read_only=True) as store:
        with pytest.raises(ConfigError, match="write connect-four with --format pgn"):
            export_matches(store, ALL, "sgf", tmp_path / "out")
        with pytest.raises(ConfigError, match="cannot write matches as npz"):
            export_matches(store, ALL, "npz", tmp_path / "out")
        with pytest.raises(ConfigError, match="no stored match fits"):
            export_matches(store, ExportQuery(where=MatchFilter(game="gomoku")), "pgn", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("termination", "pgn", "sgf"),
    [
        ("rules", "normal", "B+"),
        ("resign", "normal", "B+R"),
        ("adjudicated", "adjudication", "B+"),
        ("time_move", "time forfeit", "B+T"),
        ("illegal_move", "illegal move", "B+F"),
        ("crash", "abandoned", "B+F"),
    ],
)
def test_ends_have_their_words(tmp_path: Path, termination: str, pgn: str, sgf: str) -> None:
    with Store.open(tmp_path / "arena.db") as store:
        cup = add_cup(store, num=2, game="gomoku:k=4,size=6", num_actions=36)
        store.matches.save([cup.match(1, termination=termination, actions=(3, 2, 5, 1))])
        match = store.matches.find(1)
        assert match is not None
        assert MatchWriter(store, "pgn", by_label=True).pgn(match).termination == pgn
        assert MatchWriter(store, "sgf", by_label=True).sgf(match).result == sgf


def test_a_tournament_is_written_again_with_all_that_is_done(tmp_path: Path) -> None:
    out = tmp_path / "out.pgn"
    with Store.open(tmp_path / "arena.db") as store:
        cup = add_cup(store, "a\x1b[31m", 'b "x"', num=4)
        store.matches.save([cup.match(1), cup.void(2)])
        rewrite_matches(store, cup.record, out)
        assert [match.match_id for match in parse_pgn(out.read_text(encoding="utf-8"))] == [1]
        store.matches.save([cup.match(3)])
        rewrite_matches(store, cup.record, out)
    written = list(parse_pgn(out.read_text(encoding="utf-8")))
    assert [match.match_id for match in written] == [1, 3]
    assert (written[0].white, written[0].black) == ("a[31m", 'b "x"')


def test_a_place_where_no_file_can_be_is_refused(tmp_path: Path) -> None:
    check_replaceable(tmp_path / "new")
    with pytest.raises(ConfigError, match="is a folder; name a file"):
        check_replaceable(tmp_path)
    with pytest.raises(ConfigError, match="make it first"):
        check_replaceable(tmp_path / "no" / "file")


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with Store.open(tmp_path / "arena.db") as store:
        cup = add_cup(store, num=2)
        (tmp_path / "out").mkdir()
        with pytest.raises(ExportError, match="cannot write"):
            rewrite_matches(store, cup.record, tmp_path / "out")


def test_a_match_that_breaks_its_rules_is_named(tmp_path: Path) -> None:
    with Store.open(tmp_path / "arena.db") as store:
        cup = add_cup(store, num=2)
        store.matches.save([cup.match(1, actions=(3,) * 8, times_ms=(0,) * 8, values=(None,) * 8)])
        with pytest.raises(ExportError, match="match rr-1/1 breaks the rules of connect-four"):
            export_matches(store, ALL, "pgn", tmp_path / "out")
    assert not (tmp_path / "out").exists()
