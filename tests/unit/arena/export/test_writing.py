"""Exports of small stores: every column equals the stored matches, splits, merging, reproducible bytes."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from arena.errors import ConfigError, ExportError
from arena.export._boards import bits_of
from arena.export.dataset import Dataset
from arena.export.match_selection import POSITION_FORMATS, ExportQuery, count
from arena.export.writing import ExportSettings, export_positions
from arena.games.symmetry import canonical, match_hash
from arena_db.records import MatchFilter
from arena_db.store import Store
from exports import EVERYTHING, OPENING, fill, grade, states_of
from stores import add_cup

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from arena.export.writing import Report
    from arena_plugins import Game, State

ALL = ExportQuery(where=MatchFilter())


def _export(db: Path, out: Path, query: ExportQuery = ALL, **wanted: object) -> tuple[Report, Dataset]:
    settings = replace(ExportSettings(form="npz"), **cast("dict[str, Any]", wanted))
    with Store.open(db, read_only=True) as store:
        report = export_positions(store, query, settings, out)
    return report, Dataset.open(out)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Game]:
    db = tmp_path_factory.mktemp("filled") / "arena.db"
    game = fill(db, num=24)
    with Store.open(db) as store:
        for match in store.matches.newest(EVERYTHING, limit=2):
            values: list[float | None] = [float(ply % 3 - 1) for ply in range(len(match.actions))]
            grade(store, match, [None, *values[1:]])
    return db, game


def test_every_column_says_what_the_store_says(filled: tuple[Path, Game], tmp_path: Path) -> None:
    db, game = filled
    report, data = _export(db, tmp_path / "out")
    columns = data.columns("train")
    with Store.open(db, read_only=True) as store:
        matches = sorted(store.matches.newest(EVERYTHING, limit=100), key=lambda match: match.id)
        bots = store.names.bots()
        remarks = store.matches.remarks([match.id for match in matches])
        analyses = store.analyses.of([match.id for match in matches])
    assert report.num_matches == len(matches)
    row = 0
    for match in matches:
        result = {"first": 1, "second": -1, "draw": 0}[match.outcome]
        judged = analyses[match.id][0].plies if match.id in analyses else None
        for ply, state in enumerate(states_of(game, match.actions)):
            here = {name: array[row] for name, array in columns.items()}
            player = state.current_player
            assert here["match_id"] == match.id
            assert here["match_hash"] == match.match_hash
            assert (here["game"], here["ply"], here["player"]) == ("connect-four", ply, player)
            cells = np.array(state.cells)
            assert (bits_of(here["own"][None], 42)[0] == (cells == player + 1)).all()
            assert (bits_of(here["opp"][None], 42)[0] == (cells == 2 - player)).all()
            assert tuple(np.flatnonzero(bits_of(here["legal"][None], 7)[0]).tolist()) == state.legal_actions
            assert here["action"] == match.actions[ply]
            assert here["value"] == (-result if player else result)
            assert here["plies_to_end"] == len(match.actions) - ply
            _same(here["root_value"], match.values[ply])
            _same(here["solver_value"], None if judged is None else judged[ply].value)
            remark = remarks.get(match.id, (None,) * 99)[ply]
            said = None if remark is None else dict(remark.policy or remark.visits or ())
            assert np.isnan(here["policy"]).any() == (said is None)
            if said is not None:
                shares = [said.get(action, 0) / sum(said.values()) for action in range(7)]
                assert here["policy"] == pytest.approx(shares, abs=1e-3)
                assert here["policy"].sum() == pytest.approx(1, abs=2e-3)
            identities = (match.first, match.second)
            assert (here["bot"], here["opponent"]) == (identities[player], identities[1 - player])
            assert here["bot_version"] == bots[here["bot"]].version
            assert here["tournament"] == match.tournament_name
            assert here["played_at"] == round(1000 * match.started_at)
            assert here["termination"] == match.termination
            moves = [str(action + 1) for action in match.actions[:OPENING]]
            assert here["opening"] == " ".join(moves)
            assert (here["split"], here["count"], here["schema_version"]) == ("train", 1, 1)
            row += 1
    assert row == report.num_positions == report.num_rows["train"] == len(columns["ply"])


def _same(found: float, wanted: float | None) -> None:
    if wanted is None:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(wanted)


def test_ratings_are_those_of_the_leaderboard(filled: tuple[Path, Game], tmp_path: Path) -> None:
    from arena.results.rated_matches import RatedMatches
    from arena.results.rating_tables import Leaderboard
    from arena.results.sides import GamePool

    _, data = _export(filled[0], tmp_path / "out")
    with Store.open(filled[0], read_only=True) as store:
        book = RatedMatches(MatchFilter())
        book.update(store)
        board = Leaderboard(
            store.sums.pool_counts(MatchFilter()),
            store.names.bots(),
            GamePool("connect-four", "5/move hosted"),
            book,
        )
    elos = {row.identity: row.elo for table in board.tables() for row in table.rows}
    columns = data.columns("train", ["bot", "bot_elo", "opponent", "opponent_elo"])
    for bot, elo in zip(columns["bot"], columns["bot_elo"], strict=True):
        assert elo == pytest.approx(elos[bot], abs=0.06)
    for bot, elo in zip(columns["opponent"], columns["opponent_elo"], strict=True):
        assert elo == pytest.approx(elos[bot], abs=0.06)
    assert {entry.elo for entry in data.manifest.bots} == {round(elo, 1) for elo in elos.values()}


@pytest.mark.parametrize("form", POSITION_FORMATS)
def test_two_exports_are_the_same_bytes_and_all_formats_the_same_rows(
    filled: tuple[Path, Game], form: str, tmp_path: Path
) -> None:
    outs = [tmp_path / "one", tmp_path / "two"]
    for out in outs:
        _export(filled[0], out, form=form, split=0.7)
    one, two = ({path.name: path.read_bytes() for path in out.iterdir()} for out in outs)
    assert one == two
    _, plain = _export(filled[0], tmp_path / "npz", form="npz", split=0.7)
    data = Dataset.open(outs[0])
    for split in data.splits:
        assert data.manifest.splits[split].rows_sha256 == plain.manifest.splits[split].rows_sha256
        mine, others = data.columns(split), plain.columns(split)
        for name, array in mine.items():
            assert np.array_equal(array, others[name], equal_nan=array.dtype.kind == "f"), name


def test_manifest_and_card_tell_what_is_there(filled: tuple[Path, Game], tmp_path: Path) -> None:
    out = tmp_path / "out"
    report, data = _export(filled[0], out, split=0.5, salt="pepper")
    manifest = json.loads((out / "manifest.json").read_bytes())
    assert manifest["split"] == {"fraction": 0.5, "salt": "pepper"}
    for split, part in manifest["splits"].items():
        assert sum(part["terminations"].values()) == part["num_matches"]
        assert sum(file["num_rows"] for file in part["files"]) == part["num_rows"] == data.num_rows(split)
        for file in part["files"]:
            content = (out / file["name"]).read_bytes()
            assert sha256(content).hexdigest() == file["sha256"]
            assert len(content) == file["num_bytes"]
    assert sum(report.num_rows.values()) == report.num_positions
    card = (out / "README.md").read_text(encoding="utf-8")
    for fact in (
        "connect-four",
        "24 stored matches",
        "pepper",
        "5/move hosted",
        "## Licence",
        "a:playouts=100",
    ):
        assert fact in card
    assert sorted(
        path.name for path in out.iterdir() if not path.name.startswith(("train", "validation"))
    ) == [
        "README.md",
        "manifest.json",
    ]


def test_equal_matches_also_mirrored_ones_lie_together(tmp_path: Path) -> None:
    db = tmp_path / "arena.db"
    from arena_plugins import load_game

    game = load_game("connect-four")
    with Store.open(db) as store:
        cup = add_cup(store, num=40)
        for number in range(1, 41):
            wing = (number - 1) // 2 % 3
            actions = (wing, 3, wing, 3, wing, 3, (number + 1) // 6 % 3, 3)
            if number % 2:
                actions = tuple(6 - action for action in actions)
            store.matches.save(
                [
                    cup.match(
                        number,
                        actions=actions,
                        values=(None,) * 8,
                        times_ms=(0,) * 8,
                        outcome="second",
                        match_hash=match_hash(game, actions),
                    )
                ]
            )
    _, data = _export(db, tmp_path / "out", split=0.5)
    assert data.num_rows("train") > 0
    assert data.num_rows("validation") > 0
    hashes = {split: set(data.columns(split, ["match_hash"])["match_hash"]) for split in data.splits}
    assert hashes["train"].isdisjoint(hashes["validation"])
    for split in data.splits:
        for match in hashes[split]:
            drawn = int.from_bytes(sha256(b"arena" + bytes.fromhex(match)).digest()[:8], "big") / 2**64
            assert (drawn < 0.5) == (split == "train")


def _by_position(game: Game, data: Dataset, split: str) -> dict[object, list[int]]:
    """Return the rows of each canonical position, by the plain rules."""
    columns = data.columns(split, ["own", "opp", "player"])
    own, opp = bits_of(columns["own"], 42), bits_of(columns["opp"], 42)
    rows: defaultdict[object, list[int]] = defaultdict(list)
    for row, player in enumerate(columns["player"].tolist()):
        cells = own[row] * (player + 1) + opp[row] * (2 - player)
        rows[canonical(game, cast("State", _Still(tuple(cells.tolist()), player))).key].append(row)
    return rows


class _Still:
    """A position with only the attributes that canonical forms need."""

    def __init__(self, cells: tuple[int, ...], player: int) -> None:
        self.cells = cells
        self.current_player = player


@pytest.mark.parametrize("disjoint", [False, True])
def test_dedup_merges_equal_positions_within_a_split(
    filled: tuple[Path, Game], tmp_path: Path, *, disjoint: bool
) -> None:
    db, game = filled
    _, plain = _export(db, tmp_path / "plain", split=0.6)
    _, data = _export(db, tmp_path / "out", split=0.6, dedup=True, disjoint=disjoint)
    train = _by_position(game, plain, "train").keys()
    for split in data.splits:
        before, columns = _by_position(game, plain, split), plain.columns(split)
        if disjoint and split == "validation":
            before = {key: rows for key, rows in before.items() if key not in train}
        after, merged = _by_position(game, data, split), data.columns(split)
        assert after.keys() == before.keys()
        for key, (row,) in after.items():
            rows = before[key]
            assert merged["count"][row] == len(rows)
            assert merged["value"][row] == pytest.approx(columns["value"][rows].mean())
            assert merged["match_id"][row] == columns["match_id"][rows[0]]
            _check_mean(merged["root_value"][row], columns["root_value"][rows])
            num_said = np.count_nonzero(~np.isnan(columns["policy"][rows]).any(axis=1))
            assert np.isnan(merged["policy"][row]).any() == (num_said == 0)
            if num_said:
                assert merged["policy"][row].sum() == pytest.approx(1, abs=5e-3)
            # The played action is legal in the image as well.
            assert bits_of(merged["legal"][row][None], 7)[0][merged["action"][row]]
    overlap = data.manifest.overlap
    shared = train & _by_position(game, plain, "validation").keys()
    assert (overlap.num_distinct, overlap.is_dropped) == (len(shared), disjoint)
    assert plain.manifest.overlap.num_distinct == len(shared)
    assert plain.manifest.splits["train"].num_distinct == len(train)


def _check_mean(found: float, given: NDArray[np.float32]) -> None:
    there = given[~np.isnan(given)]
    _same(found, float(there.mean()) if len(there) else None)


def test_disjoint_alone_only_leaves_rows_out(filled: tuple[Path, Game], tmp_path: Path) -> None:
    db, game = filled
    _, plain = _export(db, tmp_path / "plain", split=0.6)
    _, data = _export(db, tmp_path / "out", split=0.6, disjoint=True)
    assert data.num_rows("train") == plain.num_rows("train")
    train = _by_position(game, plain, "train").keys()
    kept = [rows for key, rows in _by_position(game, plain, "validation").items() if key not in train]
    assert data.num_rows("validation") == sum(map(len, kept))
    assert data.manifest.overlap.num_positions == plain.num_rows("validation") - data.num_rows("validation")


@pytest.mark.parametrize(
    ("spec", "num"), [("gomoku:k=4,size=6", 6), ("gomoku", 3), ("tic-tac-toe", 12), ("gomoku:size=17", 2)]
)
def test_other_games_are_exported(spec: str, num: int, tmp_path: Path) -> None:
    game = fill(tmp_path / "arena.db", spec, num)
    query = ExportQuery(where=EVERYTHING)
    report, data = _export(tmp_path / "arena.db", tmp_path / "out", query, dedup=True)
    assert (data.game, data.shape, data.num_actions) == (spec, game.shape, game.num_actions)
    rows = data.arrays("train")
    assert rows["planes"].shape == (report.num_rows["train"], 2, *game.shape)
    assert rows["count"].sum() == report.num_positions
    state: State = game.initial_state()
    assert rows["planes"][0].sum() == sum(map(bool, state.cells))


def test_what_stays_out_and_what_lets_it_in(tmp_path: Path) -> None:
    db = tmp_path / "arena.db"
    with Store.open(db) as store:
        cup = add_cup(store, num=12)
        kinds = ("rules", "resign", "adjudicated", "crash", "time_move", "illegal_move")
        store.matches.save(
            [cup.match(number, termination=kind) for number, kind in enumerate(kinds, start=1)]
        )
        store.matches.save([cup.match(7, rated=False, termination="walkover"), cup.void(8)])

    def exported(**changes: object) -> set[int]:
        asked = replace(ALL, **cast("dict[str, Any]", changes))
        with Store.open(db, read_only=True) as store:
            num = count(store, asked).num_matches
        out = tmp_path / f"out-{len(list(tmp_path.iterdir()))}"
        _, data = _export(db, out, asked)
        found = set(data.columns("train", ["match_id"])["match_id"].tolist())
        assert len(found) == num
        return found

    assert exported() == {1, 2, 3}
    assert exported(include_forfeits=True) == {1, 2, 3, 4, 5, 6}
    assert exported(where=MatchFilter(termination="crash")) == {4}
    assert exported(where=MatchFilter(termination="walkover", rated_only=False)) == {7}
    assert exported(limit=2) == {2, 3}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"form": "xls"}, "cannot write positions as xls"),
        ({"split": 1.0}, "--split 1 is not a share"),
        ({"split": float("nan")}, "--split nan is not a share"),
        ({"disjoint": True}, "--disjoint needs --split"),
    ],
)
def test_settings_that_cannot_be_are_refused(
    filled: tuple[Path, Game], settings: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=message):
        _export(filled[0], tmp_path / "out", **settings)
    assert list(tmp_path.iterdir()) == []


def test_one_export_is_of_one_game(tmp_path: Path) -> None:
    db = tmp_path / "arena.db"
    fill(db, "connect-four", 2)
    fill(db, "tic-tac-toe", 2)
    with pytest.raises(ConfigError, match="connect-four and tic-tac-toe fit; choose one with --game"):
        _export(db, tmp_path / "out")
    with pytest.raises(ConfigError, match="no stored match fits"):
        _export(db, tmp_path / "out", ExportQuery(where=MatchFilter(game="gomoku")))
    assert not (tmp_path / "out").exists()


def test_a_match_that_breaks_its_rules_leaves_nothing_behind(tmp_path: Path) -> None:
    db = tmp_path / "arena.db"
    with Store.open(db) as store:
        cup = add_cup(store, num=2)
        store.matches.save([cup.match(1, actions=(3,) * 8, times_ms=(0,) * 8, values=(None,) * 8)])
    with pytest.raises(ExportError, match="match 1 breaks the rules of connect-four"):
        _export(db, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith("arena.db")) == []
