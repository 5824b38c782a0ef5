"""Pages of bots and head-to-heads: numbers of the commands, links, and the pages that a second run writes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from arena import site as building
from arena.results.bot_page import bot_page
from arena.results.condition import Condition
from arena.results.versus import versus
from arena.site import build
from arena_db.judgements import JudgedMatch, JudgedPly
from arena_db.store import Store
from leagues import League, add_league
from stores import digest
from tournaments import Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAMES = ("strong", "middling", "weak")


@pytest.fixture(scope="module")
def league(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with two leagues of the same bots in two games, with some graded matches."""
    path = tmp_path_factory.mktemp("league") / "arena.db"
    with Store.open(path, fast=True) as store:
        first = add_league(store, NAMES, League(rounds=6, name="winter", game="tic-tac-toe", points=4))
        add_league(store, NAMES, League(rounds=6, name="spring/1", game="tic-tac-toe", points=4))
        for match in list(store.matches.of_tournament(first.id))[:9]:
            plies = tuple(JudgedPly(value=0.0, loss=float(ply % 3 == 2)) for ply in range(len(match.actions)))
            store.analyses.add(JudgedMatch(match=match.id, name="solver", plies=plies, made_at=1.0))
    return path


def _twin(page: Path) -> Any:  # noqa: ANN401 - JSON
    return json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))


def _plain(value: object) -> Any:  # noqa: ANN401 - JSON
    import msgspec

    return json.loads(msgspec.json.encode(value))


def test_facts_of_bots_are_those_of_the_command(league: Path, tmp_path: Path) -> None:
    with Store.open(league, read_only=True) as store:
        build(store, tmp_path)
        pages = sorted((tmp_path / "b").glob("*.html"))
        assert len(pages) == 3
        for page in pages:
            twin = _twin(page)
            assert twin["page"] == _plain(bot_page(store, f"~{twin['identity']}"))
            assert twin["page"]["tournaments"][0]["curve"]
            assert twin["identity"].startswith(page.stem)


def test_facts_of_pairs_are_those_of_the_command(league: Path, tmp_path: Path) -> None:
    with Store.open(league, read_only=True) as store:
        build(store, tmp_path)
        pages = sorted(tmp_path.glob("t/*/v/*/*.html"))
        assert len(pages) == 6
        for page in pages:
            twin = _twin(page)
            one, other = (f"~{twin['meeting'][key]}" for key in ("identity", "opponent_identity"))
            found = versus(store, one, other, Condition(tournament=twin["tournament"]))
            assert twin["meeting"] == _plain(found.meetings[0])
            assert [page.parent.name, page.stem] == [identity[1:17] for identity in (one, other)]


def test_what_a_page_says_is_what_its_twin_says(league: Path, tmp_path: Path) -> None:
    with Store.open(league, read_only=True) as store:
        build(store, tmp_path)
    for page in (tmp_path / "b").glob("*.html"):
        text, twin = page.read_text(encoding="utf-8"), _twin(page)["page"]
        for row in twin["opponents"]:
            cell = row["cell"]
            assert f'<td class="n">{cell["wins"]}-{cell["draws"]}-{cell["losses"]}<' in text
            assert f"{100 * cell['los']:.1f}%" in text
        for loss in twin["worst"]:
            assert loss["ending"] in text
            ply = "" if loss["mistake"] is None else f"#p{loss['mistake']}"
            assert re.search(rf'href="[^"]*/{loss["address"].rpartition("/")[2]}\.html{ply}"', text)
        for fault in twin["faults"]:
            assert fault["termination"] in text
        for event in twin["tournaments"]:
            last = event["curve"][-1]
            assert f"{last['elo']:.0f} +/- {last['error']:.0f} after {last['num_matches']} matches" in text
        assert f"Graded {twin['mistakes']['graded']} of {twin['mistakes']['games']} matches" in text


def test_cells_standings_and_matches_lead_to_them(league: Path, tmp_path: Path) -> None:
    with Store.open(league, read_only=True) as store:
        build(store, tmp_path)
    bots = {page.name for page in (tmp_path / "b").glob("*.html")}
    for page in ("leaderboard", "bots", "t/winter/index", "t/winter/table"):
        text = (tmp_path / f"{page}.html").read_text(encoding="utf-8")
        assert {
            f"{name}.html" for name in re.findall(r"/b/(\w+)\.html|^b/(\w+)", text) for name in name if name
        } <= bots
        assert all(f"b/{name}" in text for name in bots), page
    table = (tmp_path / "t/winter/table.html").read_text(encoding="utf-8")
    # Each pair of bots has one page, to which both cells link.
    cells = re.findall(r'<td class="h\d"><a href="([^"]+)"', table)
    assert len(cells) == 6
    assert len(set(cells)) == 3
    match = (tmp_path / "t/winter/1.html").read_text(encoding="utf-8")
    assert re.search(r'href="[^"]*/v/\w+/\w+\.html"', match)


def _written(league: Path, out: Path, change: Callable[[Store], object] | None = None) -> set[str]:
    """Return the pages that a run writes after a change of the store."""
    if change is not None:
        with Store.open(league, fast=True) as store:
            change(store)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.html")}
    with Store.open(league, read_only=True) as store:
        build(store, out)
    now = {path: path.stat().st_mtime_ns for path in out.rglob("*.html")}
    return {path.relative_to(out).as_posix() for path in now if now[path] != before.get(path)}


def test_a_run_writes_what_has_changed(tmp_path: Path) -> None:
    path, out = tmp_path / "arena.db", tmp_path / "out"
    with Store.open(path, fast=True) as store:
        add_league(store, NAMES, League(rounds=3, name="one", game="tic-tac-toe"))
        add_league(store, NAMES, League(rounds=3, name="two", game="tic-tac-toe", limit="1/move hosted"))
    assert _written(path, out)
    assert _written(path, out) == set()
    with Store.open(path, read_only=True) as store:
        record = store.tournaments.find("one")
        assert record is not None
        match = next(store.matches.of_tournament(record.id))

    def grade(store: Store) -> None:
        plies = tuple(JudgedPly(value=0.0, loss=2.0) for _ in match.actions)
        store.analyses.add(JudgedMatch(match=match.id, name="solver", plies=plies, made_at=2.0))

    changed = _written(path, out, grade)
    pair = f"t/one/v/{match.first[:16]}/{match.second[:16]}.html"
    assert {f"t/one/{match.number}.html", pair, f"b/{match.first[:16]}.html"} <= changed
    assert not [name for name in changed if name.startswith("t/two")]
    changed = _written(
        path, out, lambda store: store.changes.void([match.id], reason="a test", who="me@here")
    )
    assert {f"t/one/{match.number}.html", pair, "t/one/index.html", "leaderboard.html"} <= changed
    assert not [name for name in changed if name.startswith("t/two/v")]
    assert _written(path, out) == set()


def test_pairs_are_bounded(league: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "MOST_PAIRS", 4)
    with Store.open(league, read_only=True) as store:
        build(store, tmp_path)
        newest = store.tournaments.newest(limit=1)[0]
    names = sorted(page.relative_to(tmp_path / "t").parts[0] for page in tmp_path.glob("t/*/v/*/*.html"))
    assert names == sorted([newest.uid] * 3 + ["winter"])


def test_matches_can_be_downloaded(league: Path, tmp_path: Path) -> None:
    from arena.export.pgn import parse_pgn

    with Store.open(league, read_only=True) as store:
        build(store, tmp_path, num_matches=3)
    texts = sorted(tmp_path.glob("t/winter/*.pgn"))
    assert texts
    for text in texts:
        (match,) = parse_pgn(text.read_text(encoding="utf-8"))
        page = text.with_suffix(".html").read_text(encoding="utf-8")
        assert f'href="../../t/winter/{text.name}"' in page
        assert match.round == text.stem
        assert all(move in page for move in match.moves)
    assert {text.stem for text in tmp_path.glob("t/winter/*.sgf")} == {text.stem for text in texts}


def test_one_tournament_has_pages_of_its_bots_alone(tmp_path: Path) -> None:
    path = tmp_path / "arena.db"
    with Store.open(path, fast=True) as store:
        add_league(store, NAMES, League(rounds=2, name="spring/1", game="tic-tac-toe"))
        add_league(store, NAMES, League(rounds=2, name="winter", game="tic-tac-toe"))
        add_league(
            store,
            ("other", "another", "third", "last"),
            League(rounds=1, name="far", game="gomoku:k=3,size=3"),
        )
        build(store, tmp_path / "out", tournament="winter")
    assert {page.stem for page in (tmp_path / "out/b").glob("*.html")} == {
        digest(f"{name}:strength={seat}")[:16] for seat, name in enumerate(("mcts", "minimax", "alphazero"))
    }
    text = next((tmp_path / "out/b").glob("*.html")).read_text(encoding="utf-8")
    assert "spring/1" in text
    assert "t/winter/index.html" in text


def test_a_bot_without_a_rated_match_has_a_page_and_no_rating(tmp_path: Path) -> None:
    sitting = Sitting(tmp_path / "arena.db", config("random", "minimax:depth=1", rounds=1, name="new"))
    with sitting.store as store:
        build(store, tmp_path / "out")
    pages = list((tmp_path / "out/b").glob("*.html"))
    assert len(pages) == 2
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert "no rated match" in text
        assert "Ratings" not in text
        assert f'href="b/{page.name}"' in (tmp_path / "out/bots.html").read_text(encoding="utf-8")


def test_pages_of_another_look_are_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, out = tmp_path / "arena.db", tmp_path / "out"
    with Store.open(path, fast=True) as store:
        add_league(store, NAMES, League(rounds=6, name="one", game="tic-tac-toe"))
    assert _written(path, out)
    page = out / "t/one/36.html"
    page.write_text("an older look", encoding="utf-8")
    assert _written(path, out) == set()
    monkeypatch.setattr(building, "_VERSION", 99)
    assert _written(path, out) == {"t/one/36.html"}


def test_a_forfeit_that_is_among_the_newest_has_one_page(tmp_path: Path) -> None:
    with Store.open(tmp_path / "arena.db", fast=True) as store:
        add_league(store, NAMES, League(rounds=6, name="one", game="tic-tac-toe"))
        done = build(store, tmp_path / "out", num_matches=6)
    assert done.num_pages == len([*(tmp_path / "out").rglob("*.html")])
    # The newest six matches, and match 31, which was forfeited.
    names = {page.stem for page in (tmp_path / "out/t/one").glob("[0-9]*.html")}
    assert names == {str(number) for number in range(31, 37)}
    with Store.open(tmp_path / "arena.db", read_only=True) as store:
        build(store, tmp_path / "few", num_matches=2)
    assert {page.stem for page in (tmp_path / "few/t/one").glob("[0-9]*.html")} == {"31", "35", "36"}
