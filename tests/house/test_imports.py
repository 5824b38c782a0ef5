"""No import cycles, and only allowed imports between packages; lazy and type-checking imports count."""

from __future__ import annotations

import ast
import sys

import pytest

from source_tree import (
    ROOMS,
    ROOT,
    Import,
    Source,
    all_sources,
    called_name,
    cycles,
    import_graph,
    read,
    room_sources,
)

OURS = tuple(ROOMS)
STDLIB = sys.stdlib_module_names

ARROWS: dict[str, tuple[str, ...]] = {
    "arena_bots": ("arena_plugins", "arena.games"),
    "arena": ("arena_plugins", "arena_db"),
    "arena_plugins": (),
    "arena_db": (),
}
"""Packages that each package may import."""
TRAINER_ARROWS = ("arena.export",)
"""Further imports that a bundled bot's `train` may make."""

STRANGERS: dict[str, set[str]] = {
    "arena_plugins": {"numpy", "pluggy", "msgspec", "typing_extensions"},
    "arena_db": {"sqlalchemy", "alembic", "pysqlite3", "psycopg"},
}
"""Third-party packages that each package may import; few, because every user installs them."""


def _inside(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def _named(found: Import) -> str:
    return f"{found.module}.{found.name}" if found.name else found.module


def _forbidden_arrows(source: Source) -> list[str]:
    room = source.module.partition(".")[0]
    allowed = (room, *ARROWS[room])
    if room == "arena_bots" and "train" in source.module.split("."):
        allowed += TRAINER_ARROWS
    return [
        f"{source.path}:{found.line} imports {_named(found)}"
        for found in source.imports
        if _inside(found.module, OURS) and not _inside(_named(found), allowed)
    ]


def _third_party(source: Source) -> set[str]:
    tops = {found.module.partition(".")[0] for found in source.imports}
    return {top for top in tops if top not in STDLIB and top not in OURS}


def test_no_module_reaches_itself() -> None:
    assert cycles(import_graph(room_sources())) == []


def test_cycle_finder_sees_package_and_module() -> None:
    graph = {"p": {"p.a"}, "p.a": {"p.b"}, "p.b": {"p"}, "q": {"p"}, "r": {"r"}}
    assert cycles(graph) == [["p", "p.a", "p.b"], ["r"]]


def test_arrows_between_rooms() -> None:
    wrong = [line for source in room_sources().values() for line in _forbidden_arrows(source)]
    assert wrong == []


@pytest.mark.parametrize("room", sorted(STRANGERS))
def test_third_party_imports_are_few(room: str) -> None:
    wrong = {
        source.module: strangers
        for source in room_sources({room: ROOMS[room]}).values()
        if (strangers := _third_party(source) - STRANGERS[room])
    }
    assert wrong == {}


def test_migrations_know_the_models_only() -> None:
    paths = sorted((ROOT / "alembic").rglob("*.py"))
    assert paths, "there are no migrations"
    for path in paths:
        source = read(path, path.name)
        ours = {found.module for found in source.imports if _inside(found.module, OURS)}
        assert ours <= ({"arena_db.models"} if path.name == "env.py" else set[str]()), path
        assert _third_party(source) <= {"alembic", "sqlalchemy"}, path


def test_the_template_knows_the_contract_only() -> None:
    for path in sorted((ROOT / "plugins" / "template").rglob("*.py")):
        ours = {found.module for found in read(path, path.name).imports if _inside(found.module, OURS)}
        assert all(_inside(module, ("arena_plugins", "arena.games")) for module in ours), path


def _literal_start(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr) and node.values:
        return _literal_start(node.values[0])
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def test_no_import_is_hidden_in_a_string() -> None:
    hidden: list[str] = []
    for source in all_sources():
        for node in source.nodes:
            if not isinstance(node, ast.Call) or not node.args:
                continue
            if called_name(node) in {"import_module", "__import__"} and _inside(
                _literal_start(node.args[0]), OURS
            ):
                hidden.append(f"{source.path}:{node.lineno}")
    assert hidden == []
