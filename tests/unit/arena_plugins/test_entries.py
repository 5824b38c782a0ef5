"""Plugins are listed from metadata: nothing is imported, nothing bad is hidden."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from arena_plugins.entries import BOTS, GAMES, Entry, find, list_plugins
from arena_plugins.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Callable
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
    next(folder.glob("*/METADATA")).write_text("")
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
