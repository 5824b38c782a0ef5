"""Plugins are listed from metadata: nothing is imported, and errors are not hidden."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from typing import TYPE_CHECKING

import pytest

from arena_plugins.entries import BOTS, GAMES, Entry, find, list_plugins, version_of
from arena_plugins.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    Distribute = Callable[..., Path]


def test_listing_imports_nothing(third_party: Path) -> None:
    for name in ("misere", "misere_bots"):
        sys.modules.pop(name, None)
    entry = list_plugins(GAMES).entries["misere"]
    assert entry == Entry("misere", "misere", "misere", "1.2")
    assert list_plugins(BOTS, [str(third_party)]).entries == {
        "first": Entry("first", "misere_bots", "misere", "1.2"),
        "last": Entry("last", "misere_bots:last", "misere", "1.2"),
    }
    assert {"misere", "misere_bots"}.isdisjoint(sys.modules)


def test_any_group_can_be_listed(tmp_path: Path) -> None:
    assert list_plugins("arena.trainers", [str(tmp_path)]).entries == {}


def test_a_name_offered_twice_is_nobodys(distribute: Distribute) -> None:
    folders = [
        distribute("one", "1.0", {"twin": "a", "sole": "a"}),
        distribute("two", "2.0", {"Twin": "b:c"}),
    ]
    listing = list_plugins(BOTS, [str(folder) for folder in folders])
    assert list(listing.entries) == ["sole"]
    assert {problem.entry.distribution for problem in listing.problems} == {"one", "two"}
    assert all("one 1.0 (a)" in reason and "two 2.0 (b:c)" in reason for _, reason in listing.problems)
    with pytest.raises(PluginError, match=r"offered by .* uninstall all but one"):
        find(BOTS, "TWIN")
    with pytest.raises(PluginError, match='no bot "other"'):
        find(BOTS, "other")


def test_what_is_installed_later_is_seen(distribute: Distribute) -> None:
    folder = distribute("one", "1.0", {"first": "a"})
    assert list(list_plugins(BOTS, [str(folder)]).entries) == ["first"]
    info = folder / "two-1.0.dist-info"
    info.mkdir()
    assert list(list_plugins(BOTS, [str(folder)]).entries) == ["first"]
    os.utime(folder, ns=(0, 0))
    (info / "METADATA").write_text("Name: two\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[arena.bots]\nsecond = b\n")
    assert list(list_plugins(BOTS, [str(folder)]).entries) == ["first", "second"]


def test_a_path_is_searched_once_however_its_missing_folders_are_called(
    distribute: Distribute, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(distribute("one", "1.0", {"first": "a"}, {"hex": "b"}))
    later = tmp_path / "later"
    searched: list[object] = []
    search = importlib.metadata.distributions

    def count(*, path: list[str]) -> Iterable[importlib.metadata.Distribution]:
        searched.append(path)
        return search(path=path)

    monkeypatch.setattr("importlib.metadata.distributions", count)
    for path in ([folder], [str(later), folder], [folder, f"{later}.zip"]):
        assert list(list_plugins(BOTS, path).entries) == ["first"]
        assert list(list_plugins(GAMES, path).entries) == ["hex"]
    assert len(searched) == 1
    (later / "two-1.0.dist-info").mkdir(parents=True)
    (later / "two-1.0.dist-info" / "METADATA").write_text("Name: two\nVersion: 1.0\n")
    (later / "two-1.0.dist-info" / "entry_points.txt").write_text("[arena.bots]\nsecond = b\n")
    assert list(list_plugins(BOTS, [str(later), folder]).entries) == ["first", "second"]


def test_a_distribution_without_plugins_comes_first_too(distribute: Distribute, tmp_path: Path) -> None:
    """Python imports the first distribution of a name, so the plugins of a later one do not exist."""
    old = distribute("one", "1.0", {"first": "a"})
    new = tmp_path / "new" / "one-2.0.dist-info"
    new.mkdir(parents=True)
    (new / "METADATA").write_text("Name: One\nVersion: 2.0\n")
    (new / "entry_points.txt").write_text("[console_scripts]\none = a:main\n")
    assert list_plugins(BOTS, [str(new.parent), str(old)]).entries == {}
    assert list(list_plugins(BOTS, [str(old), str(new.parent)]).entries) == ["first"]


def test_the_version_is_that_of_the_metadata(distribute: Distribute, monkeypatch: pytest.MonkeyPatch) -> None:
    """The version is not taken from the description, which follows an empty line."""
    folder = distribute("one", "1.0", {"first": "a"})
    text = "Metadata-Version: 2.1\nName: one\nVersion: 1.5rc1\nSummary: Version: 7\n\nVersion: 3\n"
    next(folder.glob("*/METADATA")).write_text(text)
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    assert list_plugins(BOTS, [str(folder)]).entries["first"].version == "1.5rc1"
    for name in ("one", "bot-arena", "numpy", "Msgspec"):
        assert version_of(name) == importlib.metadata.version(name)
    with pytest.raises(importlib.metadata.PackageNotFoundError):
        version_of("no-such-distribution")


def test_a_bad_name_is_a_problem(distribute: Distribute) -> None:
    folder = distribute("one", "1.0", {"[/]": "a", "../../x": "a", "x" * 65: "a", "fine": "a"})
    listing = list_plugins(BOTS, [str(folder)])
    assert list(listing.entries) == ["fine"]
    assert sorted(entry.name for entry, _ in listing.problems) == ["../../x", "[/]", "x" * 65]
    assert all("is not a name" in reason for _, reason in listing.problems)


@pytest.mark.parametrize(("name", "version"), [("n" * 257, "1.0"), ("one", "1" * 257)])
def test_metadata_that_no_store_could_keep(distribute: Distribute, name: str, version: str) -> None:
    folder = distribute("one", "1.0", {"bot": "a"})
    (info,) = folder.glob("*.dist-info")
    (info / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
    listing = list_plugins(BOTS, [str(folder)])
    assert not listing.entries
    ((_, reason),) = listing.problems
    assert reason == "its name or version in the metadata is longer than 256 characters"


def test_one_distribution_found_twice_counts_once(distribute: Distribute) -> None:
    old, new = distribute("My-Bots", "1.0", {"mine": "old"}), distribute("my_bots", "2.0", {"mine": "new"})
    assert list_plugins(BOTS, [str(new), str(old), str(new)]).entries["mine"].version == "2.0"
    assert list_plugins(BOTS, [str(new), str(old)]).problems == ()


def test_the_remains_of_a_distribution_are_passed_over(distribute: Distribute) -> None:
    folder = distribute("gone", "1.0", {"ghost": "a"})
    for text in ("", "Metadata-Version: 2.1\n\nName: gone\n"):
        next(folder.glob("*/METADATA")).write_text(text)
        os.utime(folder, ns=(0, len(text)))
        assert list_plugins(BOTS, [str(folder)]).entries == {}


def test_an_unknown_name_has_a_way_out(distribute: Distribute) -> None:
    folder = distribute("one", "1.0", {"mcts": "a"}, {"hex": "b"})
    with pytest.raises(PluginError) as caught:
        find(BOTS, "mtcs", [str(folder)])
    assert str(caught.value) == 'no bot "mtcs"; did you mean "mcts"? (arena bots list shows all)'
    with pytest.raises(PluginError) as caught:
        find(GAMES, "chess", [str(folder)])
    assert str(caught.value) == 'no game "chess" (installed: hex)'
    with pytest.raises(PluginError, match=r"\(installed: none\)"):
        find("arena.trainers", "x", [str(folder)])
