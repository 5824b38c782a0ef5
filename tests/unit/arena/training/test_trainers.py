"""Trainers are found and made like bots and games, and every failure is an error with a message."""

from __future__ import annotations

import sys
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


@pytest.mark.parametrize(
    ("trainer", "module", "extra"),
    [
        ("keras", "onnx", "train-keras"),
        ("keras", "tensorflow", "train-keras"),
        ("alphazero", "onnx", "train-torch"),
        ("alphazero", "torch", "train-torch"),
    ],
)
def test_a_missing_extra_is_one_sentence_before_a_run_begins(
    trainer: str, module: str, extra: str, arena: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    refused = arena("train", trainer, "--out", "net.onnx", status=2)
    assert refused.output == f"arena: {trainer} needs {module}: pip install 'bot-arena[{extra}]'\n"
    assert not (arena.folder / "home" / "runs").exists()


def test_a_strangers_missing_library_is_one_sentence(arena: CommandLine) -> None:
    site = arena.folder / "site"
    (site / "lazy.py").write_text(
        "from arena_plugins import hookimpl\nclass Lazy:\n    bot = 'lazy'\n"
        "    def train(self, context):\n        import no_such_library\n"
        "@hookimpl\ndef make_trainer():\n    return Lazy()\n"
    )
    (site / "lazy-1.dist-info").mkdir()
    (site / "lazy-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: lazy\nVersion: 1\n")
    (site / "lazy-1.dist-info" / "entry_points.txt").write_text("[arena.trainers]\nlazy = lazy\n")
    refused = arena("train", "lazy", status=2)
    assert "arena: the trainer lazy needs no_such_library, which is not installed" in refused.output
    assert not list((arena.folder / "home" / "runs").iterdir())
    assert 'the trainer "lazy" has no option "steps"' in arena("train", "lazy", "steps=3", status=2).output


def test_a_module_without_the_hook_is_refused(arena: CommandLine) -> None:
    (arena.folder / "site" / "hookless_trainer.py").write_text("")
    with pytest.raises(PluginError, match="has no hook make_trainer"):
        load_entry(TRAINERS, "hookless", "hookless_trainer")
