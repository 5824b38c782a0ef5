"""Four screens with their colours as SVG images, because text files cannot show colours."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from dashboard import matrix, piloted, running_dashboard, settle, standings
from pictures import picture_of
from source_tree import ROOT

if TYPE_CHECKING:
    from textual.pilot import Pilot

GOLDEN = Path(__file__).parent / "golden"
PINS = (ROOT / "constraints.txt").read_text().splitlines()


class Picture(NamedTuple):
    """A screen, and how it is shown."""

    name: str
    key: str
    size: tuple[int, int] = (80, 24)
    theme: str = ""


@pytest.mark.parametrize(
    "wanted",
    [
        Picture("live", "1"),
        Picture("live-wide", "1", (120, 40), "arena-contrast"),
        Picture("standings", "2"),
        Picture("matrix", "4", theme="arena-blue-orange"),
    ],
    ids=lambda wanted: wanted.name,
)
def test_screens_look_as_stored(
    wanted: Picture, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, key, size, theme = wanted
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    facts: dict[str, object] = {"standings": standings(), "matrix": matrix()}
    app = running_dashboard(tmp_path, facts, glyphs="unicode", theme=theme)

    async def look(pilot: Pilot[None]) -> str:
        await pilot.press(key)
        await settle(pilot)
        app.paint(everything=True)
        await pilot.pause()
        return picture_of(app, name)

    picture = piloted(app, look, size)
    assert not theme or app.theme == theme
    assert "rr-42" in picture
    path = GOLDEN / f"{name}.svg"
    if request.config.getoption("--update-golden"):
        path.write_text(picture, encoding="utf-8")
        pytest.fail(f"{path.name} is drawn anew; look at it, then run again without --update-golden")
    # Another version of Textual has another layout and drawing.
    if all(f"{package}=={version(package)}" in PINS for package in ("textual", "rich")):
        assert picture == path.read_text(encoding="utf-8"), "run with --update-golden where this is meant"
