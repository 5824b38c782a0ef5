"""The documentation page of the dashboard describes every screen and every key."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from textual.binding import Binding

from arena.tui.look import LookApp
from arena.tui.shell.keys import APP_BINDINGS
from arena.tui.start import SCREENS
from source_tree import ROOT

if TYPE_CHECKING:
    from arena.tui.shell.screen import ArenaScreen

PAGE = ROOT / "docs" / "reference" / "dashboard.md"
IMAGES = ROOT / "docs" / "images"


def _sections() -> dict[str, str]:
    parts = re.split(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _keys(text: str) -> set[str]:
    return {
        key
        for row in re.findall(r"^\|([^|]+)\|", text, re.MULTILINE)
        for key in re.findall(r"`([^`]+)`", row)
    }


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.NAME)
def test_every_key_of_a_screen_is_on_the_page(screen: type[ArenaScreen]) -> None:
    section = _sections()[f"{screen.KEY} {screen.LABEL}"]
    display = LookApp().get_key_display
    own = [b for b in Binding.make_bindings(screen.BINDINGS) if str(b.id).startswith(f"{screen.NAME}.")]
    plain = [Binding(binding.key, binding.action, id=binding.id) for binding in own]
    names = {"plus": "+", "minus": "-"}
    shown = {display(binding) for binding in plain}
    assert {names.get(name, name) for name in shown} <= _keys(section)
    assert "As text:" in section


def test_every_key_of_all_screens_is_on_the_page() -> None:
    keys = _keys(_sections()["Keys everywhere"])
    for binding in APP_BINDINGS:
        assert isinstance(binding, Binding)
        shown = LookApp().get_key_display(binding)
        named = {shown, "esc" if shown == "escape" else shown}
        assert named & keys or binding.key.isdigit(), binding.key


def test_every_picture_is_there_and_small() -> None:
    link = re.compile(r"\.\./images/([a-z0-9-]+\.svg)")
    own = set(link.findall(PAGE.read_text(encoding="utf-8")))
    pages = [page.read_text(encoding="utf-8") for page in IMAGES.parent.rglob("*.md")]
    assert own
    assert set(link.findall("".join(pages))) == {path.name for path in IMAGES.glob("*.svg")}
    assert all((IMAGES / name).stat().st_size <= 150_000 for name in own)
