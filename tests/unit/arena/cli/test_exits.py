"""The exit status of each kind of error, none of which is a traceback."""

from __future__ import annotations

import errno
import io

import click
import pytest

from arena.cli.exits import ArenaGroup, Exit, NotFoundError, exit_code
from arena.errors import ArenaError, BotFailedError, ConfigError, OptionError, PluginError, StoreError
from arena_db import errors


def _store(cause: Exception) -> StoreError:
    error = StoreError("the store")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ArenaError("x"), 1),
        (ConfigError("x"), 2),
        (PluginError("x"), 2),
        (OptionError("x"), 2),
        (NotFoundError("x"), 2),
        (BotFailedError("x"), 5),
        (StoreError("x"), 6),
        (_store(errors.DamagedError()), 6),
        (_store(errors.NewerError()), 6),
        (_store(errors.OlderError()), 6),
        (_store(errors.ForeignError()), 6),
        (_store(errors.LockedError()), 6),
        (_store(errors.MissingError()), 2),
        (_store(errors.UnsupportedError()), 2),
        (_store(errors.TakenError()), 2),
        (_store(errors.FullError()), 1),
        (_store(errors.AccessError()), 1),
        (_store(errors.RefusedError()), 1),
        (_store(errors.MovedError()), 1),
        (_store(errors.AwayError()), 1),
        (_store(PermissionError()), 1),
        (_store(errors.LeaseLostError()), 3),
    ],
)
def test_exit_codes(error: ArenaError, status: int) -> None:
    assert exit_code(error) == status


def _run(error: BaseException | None, result: object = None) -> object:
    def callback() -> object:
        if error is not None:
            raise error
        return result

    command = ArenaGroup(name="arena", callback=callback, invoke_without_command=True)
    with pytest.raises(SystemExit) as ended:
        command.main([], prog_name="arena")
    return ended.value.code


def test_a_command_gives_its_status() -> None:
    assert _run(None) == 0
    assert _run(None, Exit.STOPPED) == 3


def test_errors_are_one_clean_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(ConfigError("no bot\n\x1b[2J here")) == 2
    assert capsys.readouterr().err == "arena: no bot [2J here\n"


def test_an_interrupt_ends_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(KeyboardInterrupt()) == 1
    assert capsys.readouterr().err.strip() == "arena: aborted"


def test_click_errors_without_context(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(click.FileError("a.toml", "no such thing")) == 2
    assert capsys.readouterr().err.startswith("arena: Could not open file 'a.toml': no such thing")


def test_an_unwritable_file_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(PermissionError(errno.EACCES, "Permission denied", "/a/b")) == 1
    assert capsys.readouterr().err == "arena: /a/b: Permission denied\n"


def test_a_full_output_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Full(io.StringIO):
        def flush(self) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sys.stdout", Full())
    assert _run(None) == 1
    assert capsys.readouterr().err == "arena: the output: No space left on device\n"


def test_bugs_keep_their_traceback() -> None:
    command = ArenaGroup(name="arena", callback=lambda: 1 // 0, invoke_without_command=True)
    with pytest.raises(ZeroDivisionError):
        command.main([], prog_name="arena")
