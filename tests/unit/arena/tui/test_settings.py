"""Settings that the dashboard stores: the theme, and the style of boards and cells."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from arena.tui.screens.dashboard import Dashboard, StartPoint
from arena.tui.settings import SavedSettings, SettingsFile
from arena.tui.start import SCREENS
from arena.tui.widgets.encounter_tables import Matrix
from dashboard import piloted, settle
from watching import Brief, press

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot


def dashboard(
    store: Path, file: SettingsFile | None, *, theme: str = "", is_read_only: bool = False
) -> Dashboard:
    return Dashboard(
        Brief(str(store), 1),
        SCREENS,
        store=str(store),
        at=StartPoint("spring"),
        glyphs="ascii",
        theme=theme,
        is_read_only=is_read_only,
        settings=file,
    )


def test_a_second_dashboard_looks_as_the_first_was_left(shown_store: Path, tmp_path: Path) -> None:
    file = SettingsFile(tmp_path / "new" / "folder" / "dashboard.json")

    async def change(pilot: Pilot[None]) -> None:
        pilot.app.theme = "arena-contrast"
        await press(pilot, "e", "s", "plus", "4", "c")

    piloted(dashboard(shown_store, file), change)
    wanted = SavedSettings(theme="arena-contrast", sort="activity", zoom=1, shows_evals=False, cells="wdl")
    assert file.read() == wanted

    async def look(pilot: Pilot[None]) -> None:
        assert pilot.app.theme == "arena-contrast"
        text = "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips(pilot.app.size))  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # what a terminal would show
        assert "sort: activity   evals: off" in text
        await press(pilot, "4")
        assert {matrix.mode for matrix in pilot.app.screen.query(Matrix)} == {"wdl"}

    piloted(dashboard(shown_store, file), look)

    async def given(pilot: Pilot[None]) -> None:
        assert pilot.app.theme == "arena-blue-orange", "--theme counts, for this once"
        await settle(pilot)

    piloted(dashboard(shown_store, file, theme="arena-blue-orange"), given)
    assert file.read() == wanted


def test_who_only_looks_leaves_no_trace(shown_store: Path, tmp_path: Path) -> None:
    file = SettingsFile(tmp_path / "dashboard.json")

    async def change(pilot: Pilot[None]) -> None:
        pilot.app.theme = "arena-contrast"
        await press(pilot, "e")

    piloted(dashboard(shown_store, file, is_read_only=True), change)
    piloted(dashboard(shown_store, None), change)
    assert file.read() == SavedSettings()
    assert list(tmp_path.glob("*.json")) == []


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"theme": 7}', b'{"sort": "by luck"}', b"\xff", b'{"zoom": "1"}', b"[]"]
)
def test_a_damaged_file_costs_the_settings_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "dashboard.json"
    path.write_bytes(content)
    file = SettingsFile(path)
    assert file.read() == SavedSettings()
    file.keep(zoom=2)
    assert file.read() == SavedSettings(zoom=2)


def test_a_theme_that_is_gone_is_the_usual_one(shown_store: Path, tmp_path: Path) -> None:
    file = SettingsFile(tmp_path / "dashboard.json")
    file.keep(theme="no such theme")
    assert dashboard(shown_store, file).theme == dashboard(shown_store, None).theme


def test_a_place_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    file = SettingsFile(tmp_path / "file" / "dashboard.json")
    file.keep(zoom=1)
    assert file.read() == SavedSettings()


def test_two_dashboards_lose_nothing_of_each_other(tmp_path: Path) -> None:
    one, other = SettingsFile(tmp_path / "d.json"), SettingsFile(tmp_path / "d.json")
    one.keep(theme="arena-ansi")
    other.keep(zoom=2)
    assert one.read() == SavedSettings(theme="arena-ansi", zoom=2)
    torn: list[str] = []

    def look() -> None:
        torn.extend(theme for _ in range(200) if (theme := one.read().theme) != "arena-ansi")

    reader = threading.Thread(target=look)
    reader.start()
    for zoom in range(50):
        other.keep(zoom=zoom % 3)
    reader.join()
    assert torn == []
    assert [path.name for path in tmp_path.iterdir()] == ["d.json"]
