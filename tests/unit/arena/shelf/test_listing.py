from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from arena.entrants import resolve
from arena.errors import PluginError
from arena.shelf.listing import find_bot, list_bots, verify
from arena.shelf.records import hash_files, read_record
from arena_plugins.entries import Entry

if TYPE_CHECKING:
    from pathlib import Path


def distribute(folder: Path, name: str, points: str) -> None:
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)


def test_both_places_are_listed(my_bots: Path) -> None:
    listing = list_bots()
    assert listing.problems == ()
    lib = str(my_bots / "lib")
    digest = read_record(my_bots).sha256
    assert listing.entries["left"] == Entry("left", "my_bots", "My_Bots", "1.0", lib, digest)
    assert listing.versions_of("left") == (listing.entries["left"],)
    assert listing.entries["left"].address == f"left@{digest[:8]}"
    assert listing.entries["random"].folder == ""
    assert find_bot("right").folder == lib
    with pytest.raises(PluginError, match='no bot "rihgt"; did you mean "right"'):
        find_bot("rihgt")


@pytest.mark.usefixtures("shelf")
def test_without_a_shelf_the_environment_is_listed() -> None:
    assert {"random", "minimax"} <= set(list_bots().entries)


def test_a_name_in_both_places_is_a_problem(
    my_bots: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distribute(tmp_path / "site", "your_bots", "[arena.bots]\nleft = your_bots\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), *sys.path])
    listing = list_bots()
    assert "left" not in listing.entries
    assert {problem.entry.folder for problem in listing.problems} == {"", str(my_bots / "lib")}
    with pytest.raises(PluginError, match=r'"left" is offered by .* arena bots remove uninstalls a bot'):
        resolve(["left"], margin_ms=0)


def test_games_and_what_came_along_are_not_listed(my_bots: Path) -> None:
    distribute(my_bots / "lib", "inner", "[arena.bots]\ninner = inner\n[arena.games]\nchess = chess\n")
    assert "inner" not in list_bots().entries
    assert str(my_bots / "lib") not in sys.path


@pytest.mark.parametrize("text", ["", "distribution = 1\n", "[also\n", "version = '\udcff'\n"])
def test_a_record_that_cannot_be_read_is_a_problem(text: str, my_bots: Path) -> None:
    (my_bots / "install.toml").write_bytes(text.encode(errors="surrogateescape"))
    (problem,) = list_bots().problems
    assert problem.entry.name == "my-bots"
    assert f"arena bots remove my-bots@{my_bots.name[-8:]}, then install it again" in problem.reason
    with pytest.raises(PluginError, match=r"the installation record in .* cannot be read"):
        find_bot("my-bots")


def test_files_that_are_gone_are_a_problem(my_bots: Path) -> None:
    (my_bots / "lib").rename(my_bots / "other")
    (problem,) = list_bots().problems
    assert "are no longer those of its wheel" in problem.reason


def test_files_are_verified(my_bots: Path) -> None:
    entry = find_bot("left")
    assert verify(entry).files == hash_files(my_bots / "lib")
    resolve(["left"], margin_ms=0)
    (my_bots / "lib" / "more.py").touch()
    with pytest.raises(PluginError, match=r"files of My_Bots 1\.0 in .* are no longer those of its wheel"):
        resolve(["left"], margin_ms=0)


def test_every_change_of_files_changes_their_hash(tmp_path: Path) -> None:
    found = [hash_files(tmp_path)]

    def changed() -> bool:
        found.append(hash_files(tmp_path))
        return len(set(found)) == len(found)

    (tmp_path / "a").write_text("x")
    assert changed()
    (tmp_path / "a").write_text("y")
    assert changed()
    (tmp_path / "a").rename(tmp_path / "b")
    assert changed()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "c").touch()
    assert changed()
    (tmp_path / "link").symlink_to("folder")
    assert changed()
    (tmp_path / "broken").symlink_to("nowhere")
    assert changed()


def test_the_files_of_a_wheel_are_the_identity_and_its_hash_is_on_record(my_bots: Path) -> None:
    left, again, options = resolve(["left", "left", "left:a=1"], margin_ms=0, twins=True)
    assert left.record == again.record != options.record
    assert left.folder == str(my_bots / "lib")
    record = my_bots / "install.toml"
    sha256, hashed = verify(find_bot("left")).sha256, verify(find_bot("left")).files
    assert left.record.files == f'{{".whl": "{sha256}"}}'
    record.write_text(record.read_text().replace(sha256, "0" * 64))
    (other,) = resolve(["left"], margin_ms=0)
    # Another archive of the same files is the same bot.
    assert other.record.identity == left.record.identity
    assert other.record.files == f'{{".whl": "{"0" * 64}"}}'
    module = next((my_bots / "lib").glob("*.py"))
    module.write_text(module.read_text() + "# edited\n")
    record.write_text(record.read_text().replace(hashed, hash_files(my_bots / "lib")))
    assert resolve(["left"], margin_ms=0)[0].record.identity != left.record.identity
