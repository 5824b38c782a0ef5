"""`arena token`, and errors of `arena serve` before it serves."""

from __future__ import annotations

import re
import socket
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from arena_db.store import Store
from command_line import CommandLine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def arena(tmp_path: Path) -> CommandLine:
    Store.open(tmp_path / "arena.db").close()
    return CommandLine(tmp_path)


def test_a_token_is_shown_once_and_stored_as_its_hash(arena: CommandLine) -> None:
    (line,) = arena.lines("token", "new", "anna", "--role", "author")
    found = re.fullmatch(r"anna: (arena_a_[\w-]{43})   shown once; valid until \d{4}-\d\d-\d\d", line)
    assert found is not None
    secret = found[1]
    assert secret.encode() not in arena.db.read_bytes()
    with Store.open(arena.db, read_only=True) as store:
        record = store.tokens.find(sha256(secret.encode()).digest())
    assert record is not None
    assert record.expires_at is not None
    assert record.expires_at - record.created_at == pytest.approx(180 * 86_400, abs=60)
    assert secret not in arena("token", "list", "--format", "json").output


def test_a_list_says_what_each_token_is_worth(arena: CommandLine) -> None:
    arena("token", "new", "anna", "--expires", "never")
    arena("token", "new", "anna", "--role", "bot", "--bot", "deep", "--expires", "12h")
    arena("token", "revoke", "anna", "--token", 1)
    first, second = arena.objects("token", "list")
    assert str(first["state"]).startswith("revoked ")
    assert (first["until"], first["role"]) == ("", "viewer")
    assert (second["state"], second["role"], second["used_on"]) == ("valid", "bot deep", "")
    assert arena.lines("token", "revoke", "anna") == ["anna: 1 revoked"]
    assert arena.lines("token", "revoke", "anna") == ["anna: all were revoked before"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("token", "new", "a b"), "is not a valid name"),
        (("token", "new", "anna", "--expires", "soon"), "write 12h, 30d or 8w, or never"),
        (("token", "new", "anna", "--role", "bot"), "belong together"),
        (("token", "new", "anna", "--bot", "deep"), "belong together"),
        (("token", "revoke", "nobody"), "arena token list"),
        (("serve", "--bind", "8642"), "is not HOST:PORT"),
        (("serve", "--bind", "127.0.0.1:99999"), "is not HOST:PORT"),
        (("serve", "--bind", "0.0.0.0:8642"), "--public-url https://NAME"),
        (("serve", "--public-url", "http://arena.example"), "https://arena.example"),
        (("serve", "--public-url", "https://arena.example/x"), "without a path"),
        (("serve", "--bind", "203.0.113.7:0", "--public-url", "https://a.example"), "give another port"),
        (("serve", "--db", "none.db"), "no store at"),
    ],
)
def test_what_is_wrong_is_said_with_the_next_step(
    arena: CommandLine, words: tuple[str, ...], says: str
) -> None:
    assert says in arena(*words, status=2).stderr


def test_a_port_that_is_taken_is_said_so(arena: CommandLine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        answer = arena("serve", "--bind", f"127.0.0.1:{port}", status=2)
    assert f"--bind 127.0.0.1:{port}: " in answer.stderr
    assert "give another port" in answer.stderr


def test_the_extra_is_named(arena: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "uvicorn", None)
    assert "pip install 'bot-arena[serve]'" in arena("serve", status=2).stderr
