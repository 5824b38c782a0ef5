"""A file or folder in place of a bot: the error says how to enter it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.errors import PluginError
from arena.shelf.listing import list_bots, read_bot, way_in

if TYPE_CHECKING:
    from pathlib import Path

_BOT = "from arena_plugins import hookimpl\n\n\n@hookimpl\ndef make_bot(game, seed): ...\n"
_AGENT = "def act(observation, configuration):\n    return 0\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {
        "bot.py": _BOT,
        "agent.py": _AGENT,
        "folder/main.py": _BOT,
        "submission/main.py": _AGENT,
        "package/pyproject.toml": "",
        "empty/notes.txt": "",
        "submission.tar.gz": "",
        "my_bot-0.1.0-py3-none-any.whl": "",
        "pbrain-mine": "",
        "engine": "",
        "with, comma.py": _BOT,
        "mcts": "",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("bot.py", "bot.py is a file; write python:file=bot.py"),
        ("./bot.py", "./bot.py is a file; write python:file=./bot.py"),
        ("agent.py", "agent.py is a file; write kaggle:file=agent.py"),
        ("folder", "folder is a folder; write python:file=folder"),
        ("submission", "submission is a folder; write kaggle:file=submission"),
        ("submission.tar.gz", "submission.tar.gz is a file; write kaggle:file=submission.tar.gz"),
        ("package", "package is a package; run pip install package, and write the name of its bot"),
        (
            "empty",
            "empty is a folder without a main.py; name the program in it, as python:file=empty/bot.py",
        ),
        (
            "my_bot-0.1.0-py3-none-any.whl",
            "my_bot-0.1.0-py3-none-any.whl is a wheel; run arena bots install my_bot-0.1.0-py3-none-any.whl",
        ),
        ("pbrain-mine", "pbrain-mine is a file; write gomocup:cmd=./pbrain-mine"),
        ("engine", "engine is a file; write exec:cmd=./engine"),
        ("exec:engine", "exec:engine names a file without its option; write exec:cmd=./engine"),
        ("kaggle:agent.py", "kaggle:agent.py names a file without its option; write kaggle:file=agent.py"),
        ("with, comma.py", 'with, comma.py is a file; write python:file="with, comma.py"'),
        ("./gone.py", "there is no file ./gone.py"),
    ],
)
def test_the_way_in_is_told(text: str, way: str) -> None:
    with pytest.raises(PluginError) as caught:
        read_bot(list_bots(), text)
    assert str(caught.value) == way


def test_a_file_called_like_a_bot_hides_no_bot() -> None:
    assert read_bot(list_bots(), "mcts")[1].name == "mcts"


@pytest.mark.parametrize("text", ["mtcs", "kaggle:file=agent.py", "x" * 5000, "\0", "", "python:"])
def test_nothing_is_said_of_what_is_no_file(text: str) -> None:
    assert way_in(text) == ""
