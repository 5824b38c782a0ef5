"""The real host process over real pipes."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from arena_plugins import wire
from arena_plugins.bootstrap import extended
from arena_plugins.command import host_command, host_path

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    WriteModule = Callable[[str], str]

NEW_MATCH = wire.NewMatch("m", wire.GameSpec("misere", {}), 9, 0, 5, wire.ClockSpec("move", 1000, 0, 0, 50))
GO = wire.Go("g", [], 0, list(range(9)), wire.Clock(1000, 1000))
NOISY = """
import os, subprocess, sys
from arena_plugins import PlayResult, hookimpl
print("loaded", input if False else "")
class Bot:
    def play(self, state, limit):
        print("thinking", flush=True)
        os.write(1, b"raw\\n")
        subprocess.run([sys.executable, "-c", "print('child')"], check=True)
        read = sys.stdin.read() + os.read(0, 10).decode()
        flags = f"{sys.flags.no_site} {sys.flags.safe_path}"
        return PlayResult(0, text=f"{read!r} {flags} {os.getcwd() in sys.path}")
@hookimpl
def make_bot(): return Bot()
"""

pytestmark = pytest.mark.usefixtures("third_party")


class Child:
    """A host process and its pipes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self._stdin, self._stdout = process, process.stdin, process.stdout

    def ask(self, message: wire.Message) -> wire.BotMessage:
        self.say(message)
        return self.read()

    def say(self, message: wire.Message) -> None:
        self._stdin.write(wire.encode(message))
        self._stdin.flush()

    def read(self) -> wire.BotMessage:
        return wire.decode_bot(self._stdout.readline().removesuffix(b"\n"))

    def play(self) -> wire.BotMessage:
        assert isinstance(self.ask(wire.ArenaHello([1], "a", wire.Limits(), "n")), wire.BotHello)
        assert isinstance(self.ask(NEW_MATCH), wire.Ready)
        return self.ask(GO)

    def end(self) -> int:
        """Close its input and return its exit code."""
        self._stdin.close()
        return self.process.wait(60)


@contextmanager
def host(entry: str, folder: Path) -> Generator[Child]:
    command = host_command(
        sys.executable,
        entry=entry,
        name="mine",
        version="1",
        options={},
        games={"misere": "misere"},
        path=host_path(),
    )
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(  # noqa: S603 - this interpreter
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, cwd=folder, env={}
        ) as process,
    ):
        try:
            yield Child(process)
        finally:
            process.kill()


def test_a_match_and_quit(tmp_path: Path) -> None:
    with host("misere_bots:last", tmp_path) as child:
        assert isinstance(child.play(), wire.Info)
        assert child.read() == wire.Action("g", 8, 0.5)
        assert child.ask(wire.Ping(3)) == wire.Pong(3)
        child.say(wire.Quit())
        assert child.process.wait(60) == 0


def test_a_noisy_bot_cannot_touch_the_protocol(tmp_path: Path, write_module: WriteModule) -> None:
    with host(write_module(NOISY), tmp_path) as child:
        info = child.play()
        assert isinstance(info, wire.Info)
        assert info.text == "'' 1 True False"
        assert child.read() == wire.Action("g", 0)
        assert child.end() == 0
    log = (tmp_path / "log").read_text()
    assert all(word in log for word in ("loaded", "thinking", "raw", "child"))


@pytest.mark.parametrize(
    ("play", "code"),
    [("raise SystemExit(3)", 3), ("__import__('os')._exit(4)", 4), ("raise SystemExit", 0)],
)
def test_a_bot_that_leaves(play: str, code: int, tmp_path: Path, write_module: WriteModule) -> None:
    source = f"""
from arena_plugins import hookimpl
class Bot:
    def play(self, state, limit): {play}
@hookimpl
def make_bot(): return Bot()
"""
    with host(write_module(source), tmp_path) as child:
        child.ask(wire.ArenaHello([1], "a", wire.Limits(), "n"))
        child.ask(NEW_MATCH)
        child.say(GO)
        assert child.process.wait(60) == code
        assert child.process.stdout is not None
        assert child.process.stdout.read() == b""


def test_an_exception_is_told_and_logged(tmp_path: Path, write_module: WriteModule) -> None:
    source = """
from arena_plugins import hookimpl
class Bot:
    def play(self, state, limit): raise KeyError("d4")
@hookimpl
def make_bot(): return Bot()
"""
    with host(write_module(source), tmp_path) as child:
        assert child.play() == wire.Error("bot_error", "KeyError: 'd4'", "g")
    assert "Traceback" in (tmp_path / "log").read_text()


def test_threads_do_not_hold_the_process(tmp_path: Path, write_module: WriteModule) -> None:
    source = """
import threading
from arena_plugins import hookimpl
threading.Thread(target=threading.Event().wait).start()
@hookimpl
def make_bot(): return None
"""
    with host(write_module(source), tmp_path) as child:
        child.ask(wire.ArenaHello([1], "a", wire.Limits(), "n"))
        assert child.ask(NEW_MATCH) == wire.Error(
            "init_error", 'the bot "mine" made a NoneType, which has no play(state, limit)'
        )
        assert child.process.wait(60) == 1


def test_the_path_of_a_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", "src", str(tmp_path / "gone"), str(tmp_path / "src"), "/"])
    assert host_path() == [str(tmp_path / "src"), "/"]
    assert extended(["/a", "/b"], ["/c", "/a"]) == ["/a", "/b", "/c"]
