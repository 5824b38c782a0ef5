"""The pages of a store as files: links resolve, numbers equal the commands', a second run writes nothing.

A folder that is published: whole files, only what differs, nothing of anybody else.
"""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import unquote, urldefrag

import pytest
from typing_extensions import override

from arena.coordinator.config import TournamentConfig
from arena.errors import ConfigError
from arena.results.crosstable import crosstable
from arena.results.rating_tables import standings
from arena.site import MARK, Folder, build
from arena.watching.table_objects import rating_objects
from arena_db.store import Store
from live_samples import EVIL
from stores import add_cup
from tournaments import Sitting, config

if TYPE_CHECKING:
    from pathlib import Path

    from arena.site import Built


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.tags: list[str] = []
        self.words: list[str] = []
        self._is_broken = False

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "wbr":
            # A browser may wrap the name there; it stays one word.
            self._is_broken = True
            return
        self.tags.append(tag)
        for name, value in attrs:
            if name in {"href", "src"} and value is not None:
                self.links.append(value)
            if name == "id" and value is not None:
                self.ids.add(value)

    @override
    def handle_data(self, data: str) -> None:
        if self._is_broken:
            self.words[-1] += data
        else:
            self.words.append(data)
        self._is_broken = False


def _read(path: Path) -> _Links:
    found = _Links()
    found.feed(path.read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    sitting = Sitting(
        folder / "arena.db", config("random", "minimax:depth=2", "mcts:playouts=20", rounds=2, name="spring")
    )
    sitting.play()
    sitting.store.close()
    # A knockout refuses the option for rounds, even the value that small tournaments use.
    rounds = TournamentConfig().rounds
    cup = Sitting(
        folder / "arena.db",
        config("random", "mcts:playouts=20", type="knockout", pairs=1, rounds=rounds, name="cup"),
    )
    cup.play()
    cup.store.close()
    return folder


def _build(played: Path, out: Path, num_matches: int = 1000) -> Built:
    with Store.open(played / "arena.db", read_only=True) as store:
        return build(store, out, num_matches=num_matches)


def test_every_link_leads_somewhere(played: Path, tmp_path: Path) -> None:
    done = _build(played, tmp_path)
    pages = {path: _read(path) for path in tmp_path.rglob("*.html")}
    assert len(pages) == done.num_pages > 12
    for path, page in pages.items():
        for link in page.links:
            target, ply = urldefrag(link)
            there = path if not target else (path.parent / unquote(target)).resolve()
            assert there.is_file(), f"{path.name} links to {link}"
            if ply and there.suffix == ".html":
                assert ply in pages[there].ids
        assert page.tags.count("h1") == page.tags.count("main") == 1


def test_every_page_is_reached_from_the_first(played: Path, tmp_path: Path) -> None:
    _build(played, tmp_path)
    seen: set[Path] = set()
    waiting = [(tmp_path / "index.html").resolve()]
    while waiting:
        path = waiting.pop()
        if path in seen or path.suffix != ".html":
            continue
        seen.add(path)
        waiting += [
            (path.parent / unquote(urldefrag(link)[0])).resolve()
            for link in _read(path).links
            if link[0] != "#"
        ]
    assert seen == {path.resolve() for path in tmp_path.rglob("*.html")}


def test_a_second_run_writes_nothing(played: Path, tmp_path: Path) -> None:
    first = _build(played, tmp_path)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    second = _build(played, tmp_path)
    assert second == first._replace(num_changed=0)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()} == times


def test_only_kept_matches_have_pages(played: Path, tmp_path: Path) -> None:
    _build(played, tmp_path)
    done = _build(played, tmp_path, num_matches=2)
    assert done.num_removed > 0
    names = {path.stem for path in (tmp_path / "t/spring").glob("*.html")}
    assert names == {"index", "table", "matches", "11", "12"}
    for path in tmp_path.rglob("*.html"):
        for link in _read(path).links:
            target = urldefrag(link)[0]
            assert not target or (path.parent / unquote(target)).exists()


def test_numbers_are_those_of_the_commands(played: Path, tmp_path: Path) -> None:
    _build(played, tmp_path)
    twin = json.loads((tmp_path / "t/spring/index.json").read_text(encoding="utf-8"))
    with Store.open(played / "arena.db", read_only=True) as store:
        record = store.tournaments.find("spring")
        assert record is not None
        rows = rating_objects(standings(store, record))
        cross = crosstable(store, record, [str(row["name"]) for row in rows])
    shown = twin["standings"]["rows"]
    for key in ("name", "elo", "error", "elo_low", "elo_high", "wins", "draws", "losses", "los", "points"):
        assert [row.get(key) for row in shown] == [row[key] for row in rows]
    cells = [[cell and (cell["games"], cell.get("elo")) for cell in line] for line in twin["matrix"]["cells"]]
    assert cells == [
        [None if cell.bot == cell.opponent else (cell.games, cell.elo) for cell in line]
        for line in cross.cells
    ]


def test_the_page_says_what_its_twin_says(played: Path, tmp_path: Path) -> None:
    _build(played, tmp_path)
    twin = json.loads((tmp_path / "t/spring/index.json").read_text(encoding="utf-8"))
    words = _read(tmp_path / "t/spring/index.html").words
    for row in twin["standings"]["rows"]:
        assert row["name"] in words
        assert any(word.startswith(f"{row['elo']:.0f}") for word in words)


def test_moves_of_a_match_and_its_plies(played: Path, tmp_path: Path) -> None:
    _build(played, tmp_path)
    twin = json.loads((tmp_path / "t/spring/3.json").read_text(encoding="utf-8"))["match"]
    page = _read(tmp_path / "t/spring/3.html")
    num = len(twin["actions"])
    assert {f"p{ply}" for ply in range(num + 1)} <= page.ids
    text = (tmp_path / "t/spring/3.html").read_text(encoding="utf-8")
    # The stone of each ply is in the same group as in the ply before.
    assert re.findall(r'<g class="g(\d+)">', text)[:num] == [str(ply) for ply in range(1, num + 1)]
    for move in twin["moves"]:
        assert f'class="m{move["ply"]}"' in text
        assert move["text"] in page.words


@pytest.mark.parametrize("name", [*EVIL[:8], "</title><script>x</script>"])
def test_names_of_bots_do_nothing(name: str, tmp_path: Path) -> None:
    with Store.open(tmp_path / "arena.db") as store:
        cup = add_cup(store, f"a/{name}", "b", name="cup", num=2)
        store.matches.save([cup.match(1, reason=f"{name} wins"), cup.match(2)])
        build(store, tmp_path / "out")
    for path in (tmp_path / "out").rglob("*.html"):
        page = _read(path)
        assert page.tags.count("script") == 1
        assert not set(page.tags) & {"img", "iframe", "object", "embed", "base"}
        assert all(not link.startswith(("http", "javascript", "//")) for link in page.links)
        raw = path.read_text(encoding="utf-8")
        assert "\x1b" not in raw
        assert "\u202e" not in raw


def test_an_empty_store_has_pages(tmp_path: Path) -> None:
    with Store.open(tmp_path / "arena.db") as store:
        assert build(store, tmp_path / "out").num_pages == 3
    assert "No event has been held yet." in _read(tmp_path / "out/index.html").words


def test_what_is_there_as_it_is_stays_untouched(tmp_path: Path) -> None:
    first = Folder(tmp_path / "out")
    first.write("t/a.html", "one")
    first.write(MARK, "{}")
    first.sweep()
    before = (tmp_path / "out/t/a.html").stat().st_ino
    second = Folder(tmp_path / "out")
    second.write("t/a.html", "one")
    second.write("t/b.html", "two")
    assert (second.num_pages, second.num_changed, second.num_bytes) == (2, 1, 6)
    assert (tmp_path / "out/t/a.html").stat().st_ino == before


def test_what_differs_is_written_although_it_is_as_long(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write("a.html", "one")
    folder.write("a.html", "two")
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == "two"


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write("a.html", "one")
    old = (tmp_path / "a.html").open(encoding="utf-8")
    folder.write("a.html", "a longer one")
    with old:
        assert old.read() == "one"
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == "a longer one"


def test_what_belongs_to_no_page_goes(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    stay = ("a.html", "t/new/1.html", MARK)
    for name in (*stay, "t/old/1.html", "t/old/1.html.part"):
        folder.write(name, "x")
    again = Folder(tmp_path)
    for name in stay:
        again.write(name, "x")
    assert again.sweep() == 2
    found = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    assert found == {*stay, "t", "t/new"}


def test_files_of_others_are_neither_overwritten_nor_removed(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ConfigError, match="holds other files"):
        Folder(tmp_path)
    with pytest.raises(ConfigError, match="is a file"):
        Folder(tmp_path / "thesis.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_run_that_was_killed_can_be_run_again(tmp_path: Path) -> None:
    Folder(tmp_path).write("a.html", "x")
    again = Folder(tmp_path)
    assert again.keep("a.html")
    assert not again.keep("b.html")
