"""All commands refuse hostile archives with the same sentence, and leave nothing behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kaggle_zoo import HOSTILE

if TYPE_CHECKING:
    from command_line import CommandLine

CALLS = {
    "check": ("bots", "check", "{}"),
    "match": ("match", "{}", "random"),
    "tournament": ("tournament", "{}", "random"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_archive_is_refused_alike(kind: str, arena: CommandLine) -> None:
    write, words = HOSTILE[kind]
    path = write(arena.folder)
    before = sorted(arena.folder.rglob("*"))
    said = {
        call: arena(*(word.format(f"kaggle:file={path}") for word in line), status=2).stderr
        for call, line in CALLS.items()
    }
    assert len(set(said.values())) == 1, said
    (text,) = set(said.values())
    assert words in text.replace("\n", " ")
    assert text.startswith("arena: ")
    assert [file for file in set(arena.folder.rglob("*")) - set(before) if file.is_file()] == []
