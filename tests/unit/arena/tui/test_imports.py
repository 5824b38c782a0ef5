"""What the dashboard loads in a fresh interpreter: no store, no bot, no framework; views load no screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from children import modules_after
from source_tree import room_sources

if TYPE_CHECKING:
    from pathlib import Path

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
