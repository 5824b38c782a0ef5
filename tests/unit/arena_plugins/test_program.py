from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena_plugins.errors import OptionError
from arena_plugins.program import command_words, exec_command, is_file, split_command

if TYPE_CHECKING:
    from pathlib import Path


def test_words_are_those_of_a_shell() -> None:
    assert split_command("python3 -u 'my bot.py' --level=3") == ["python3", "-u", "my bot.py", "--level=3"]
    assert split_command("") == []


def test_the_path_of_a_file_is_one_word(tmp_path: Path) -> None:
    path = tmp_path / "an engine"
    assert len(split_command(str(path))) > 1
    path.touch()
    assert split_command(str(path)) == [str(path)]


def test_a_command_must_be_there_and_readable() -> None:
    assert command_words("gomocup", {"cmd": "./engine -x", "memory": "1"}) == ["./engine", "-x"]
    assert exec_command({"cmd": "sh bot.sh"}) == ["sh", "bot.sh"]
    with pytest.raises(OptionError, match="gomocup needs a program; write gomocup:cmd=PATH"):
        command_words("gomocup", {})
    with pytest.raises(OptionError, match="cannot read the command sh 'bot: No closing quotation"):
        exec_command({"cmd": "sh 'bot"})
    with pytest.raises(OptionError, match='exec has no option "command"'):
        exec_command({"command": "sh"})


@pytest.mark.parametrize("text", ["", ".", "nowhere", "x" * 5000, "a\0b"])
def test_what_is_no_file(text: str) -> None:
    assert not is_file(text)
