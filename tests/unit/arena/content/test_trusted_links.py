"""A link made by another user must not make the arena copy files that only the arena's user can read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from arena.content import trusted_links
from arena.content.collect import Collection
from arena.content.option_files import place_options
from arena.content.submissions import added_submission
from arena.content.trusted_links import follow
from arena.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PUPIL = 4321


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Return a function that makes another user the owner of a path, as this module sees it."""
    theirs: set[Path] = set()

    def user_of(path: Path) -> int:
        return PUPIL if path in theirs else os.geteuid()

    monkeypatch.setattr(trusted_links, "_user_of", user_of)
    return theirs.add


def test_links_of_the_own_user_are_followed(tmp_path: Path, own: Callable[[Path], None]) -> None:
    (tmp_path / "versions").mkdir()
    secret = tmp_path / "versions" / "secret"
    secret.write_text("x")
    (tmp_path / "agent.py").symlink_to("versions/../versions/secret")
    own(secret)
    assert follow("bot", tmp_path / "agent.py") == secret


@pytest.mark.parametrize("form", ["file", "folder", "chain", "absolute"])
def test_a_link_of_another_user_leads_only_to_what_is_theirs(
    tmp_path: Path, own: Callable[[Path], None], form: str
) -> None:
    (tmp_path / "home").mkdir()
    secret = tmp_path / "home" / "secret"
    secret.write_text("x")
    link = tmp_path / "pupil"
    link.symlink_to({"folder": "home", "absolute": str(secret)}.get(form, "home/secret"))
    named = link / "secret" if form == "folder" else link
    if form == "chain":
        named = tmp_path / "mine"
        named.symlink_to("pupil")
    own(link)

    with pytest.raises(PluginError, match=f"link of user {PUPIL}") as caught:
        follow("kaggle", named)
    assert "put a copy of the file in its place" in str(caught.value)
    with pytest.raises(PluginError, match="belongs to somebody else"):
        Collection("kaggle").add_file("agent.py", named)
    with pytest.raises(PluginError, match="belongs to somebody else"):
        place_options(Collection("kaggle"), {"file": str(named)}, has_program=True)
    with (
        pytest.raises(PluginError, match="belongs to somebody else"),
        added_submission(Collection("kaggle"), "kaggle", {"file": str(named)}),
    ):
        pass
    own(secret)
    assert follow("kaggle", named) == secret


def test_what_is_missing_is_named_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert follow("bot", tmp_path / "none" / "x") == tmp_path / "none" / "x"
    follow("bot", tmp_path / "a")
