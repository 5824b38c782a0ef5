"""The interpreter is started in one place, `arena.own_python`, so that no file of the current folder runs."""

from __future__ import annotations

from source_tree import ROOT

ONE_PLACE = "arena/arena/own_python.py"


def test_nobody_else_starts_our_interpreter() -> None:
    found = {
        str(path.relative_to(ROOT)): text.count("sys.executable")
        for room in ("arena", "bots", "plugins", "db")
        for path in (ROOT / room).rglob("*.py")
        if "sys.executable" in (text := path.read_text(encoding="utf-8"))
    }
    assert found == {ONE_PLACE: 1}
