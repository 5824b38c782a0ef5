"""No text of a bot is printed with markup interpretation, which would execute `[link=…]` in a name."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from source_tree import called_name, room_sources

if TYPE_CHECKING:
    from collections.abc import Iterator


def _calls(name: str) -> Iterator[tuple[str, ast.Call]]:
    for source in room_sources().values():
        for node in source.nodes:
            if isinstance(node, ast.Call) and called_name(node) == name:
                yield f"{source.path}:{node.lineno}", node


def test_consoles_read_no_markup() -> None:
    unsafe: list[str] = []
    for place, call in _calls("Console"):
        markup = [ast.unparse(keyword.value) for keyword in call.keywords if keyword.arg == "markup"]
        unsafe += [] if markup == ["False"] else [place]
    assert unsafe == []


def test_no_text_is_made_from_markup() -> None:
    assert [place for name in ("from_markup", "from_ansi") for place, _ in _calls(name)] == []


def test_markup_is_never_put_together_from_parts() -> None:
    built: list[str] = []
    for place, call in _calls("print"):
        on = any(
            keyword.arg == "markup" and ast.unparse(keyword.value) == "True" for keyword in call.keywords
        )
        if on and any(isinstance(argument, ast.JoinedStr | ast.BinOp) for argument in call.args):
            built.append(place)
    assert built == []
