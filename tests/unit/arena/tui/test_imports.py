"""Modules that the dashboard loads in a fresh process: no bot, framework or NumPy; views load no screen."""

from __future__ import annotations

from pathlib import Path

import children
from children import modules_after
from source_tree import room_sources

NEVER = {
    "arena_bots",
    "sqlalchemy",
    "alembic",
    "numba",
    "onnxruntime",
    "torch",
    "tensorflow",
    "keras",
    "scipy",
}


def _imports(package: str) -> str:
    modules = [module for module in room_sources() if module.startswith(package)]
    assert len(modules) > 5
    return "\n".join(f"import {module}" for module in modules)


def test_views_load_no_screen(tmp_path: Path) -> None:
    code = _imports("arena.live") + "\nfrom arena.live.geometry import geometry\ngeometry('connect-four')"
    loaded = {module.partition(".")[0] for module in modules_after(code, tmp_path)}
    assert loaded & (NEVER | {"textual", "rich", "arena_db"}) == set()


def test_the_dashboard_loads_no_bot(tmp_path: Path) -> None:
    loaded = {module.partition(".")[0] for module in modules_after(_imports("arena.tui"), tmp_path)}
    assert loaded & NEVER == set()
    assert "textual" in loaded


def test_the_dashboard_begins_without_the_metadata_of_packages(tmp_path: Path) -> None:
    # They take 2 MB, which a viewer needs only after screen 5 is opened.
    loaded = modules_after("import arena.tui.start", tmp_path)
    assert loaded & {"arena.entrants", "arena.shelf.listing", "packaging", "tarfile"} == set()


_VIEWER = """
import sys
sys.path.insert(0, {support!r})
from pathlib import Path
from watching import press, shown, watch

async def look(pilot, app):
    # Screen 5 would start `arena bots list`, which takes its time.
    for key in "12346781":
        await press(pilot, key)
        assert app.current.KEY == key
    assert app.model.facts["standings"].rows[0].elo and app.model.facts["leaderboard"].rows

shown(watch(Path({store!r})), look, (120, 40))
"""


def test_a_viewer_that_showed_its_screens_has_loaded_no_bot(shown_store: Path, tmp_path: Path) -> None:
    code = _VIEWER.format(support=str(Path(children.__file__).parent), store=str(shown_store))
    modules = modules_after(code, tmp_path)
    loaded = {module.partition(".")[0] for module in modules}
    # The store is read through SQLAlchemy, and ratings need NumPy. Another SQL dialect would take 2 MB more.
    assert loaded & (NEVER - {"sqlalchemy"}) == set()
    assert "sqlalchemy.dialects.postgresql" not in modules
    assert {"textual", "sqlalchemy"} <= loaded
