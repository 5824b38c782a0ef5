"""Trainers are found and made like bots and games, and every way to fail is an error with a name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena_plugins.errors import OptionError, PluginError
from arena_plugins.manager import TRAINERS, load_entry, load_plugin

if TYPE_CHECKING:
    from command_line import CommandLine


@pytest.mark.usefixtures("arena")
def test_hook_make_trainer() -> None:
    plugin = load_plugin(TRAINERS, "weigher")
    trainer = plugin.make_trainer({"steps": "3"})
    assert trainer.bot == "weigher"
    with pytest.raises(OptionError, match='no option "pace"'):
        plugin.make_trainer({"pace": "3"})


@pytest.mark.parametrize(
    ("made", "complaint"),
    [
        ("object()", "made a object, without train"),
        ("type('T', (), {'train': print})()", "made a T, without train"),
        ("1 / 0", "cannot be made: ZeroDivisionError"),
    ],
)
def test_what_is_no_trainer_is_refused(arena: CommandLine, made: str, complaint: str) -> None:
    source = f"from arena_plugins import hookimpl\n@hookimpl\ndef make_trainer(options):\n    return {made}\n"
    name = f"broken_{abs(hash(made))}"
    (arena.folder / "site" / f"{name}.py").write_text(source)
    with pytest.raises(PluginError, match=complaint):
        load_entry(TRAINERS, "broken", name).make_trainer({})


def test_a_module_without_the_hook_is_refused(arena: CommandLine) -> None:
    (arena.folder / "site" / "hookless_trainer.py").write_text("")
    with pytest.raises(PluginError, match="has no hook make_trainer"):
        load_entry(TRAINERS, "hookless", "hookless_trainer")
