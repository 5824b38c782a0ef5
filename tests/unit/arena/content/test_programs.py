"""The first word of a command: the program that it names, and the error if there is none.

The packages of a virtual environment are a part of the bot that its interpreter runs.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from arena.cli.exits import Exit, exit_code
from arena.content.collect import Collection
from arena.content.programs import Placed, add_environment, place_words
from arena.errors import PluginError

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, data: bytes, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)
    return path


def place(*words: str, folder: Path | None = None) -> Placed:
    return place_words(Collection("exec"), words, folder)


def binary(path: Path) -> Path:
    return write(path, b"\x7fELF")


def shim(path: Path) -> Path:
    return write(path, b"#!/bin/sh\nexec other\n")


def test_an_interpreter_is_no_script_of_a_version_manager(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = shim(tmp_path / "shims" / "node")
    first, second = binary(tmp_path / "one" / "node"), binary(tmp_path / "two" / "node")
    monkeypatch.setenv("PATH", os.pathsep.join(str(each.parent) for each in (script, first, second)))
    assert place("node").runtime == str(first)
    first.unlink()
    assert place("node").runtime == str(second)
    second.unlink()
    assert place("node").runtime == str(script)


def test_an_engine_is_the_first_that_path_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script, program = shim(tmp_path / "a" / "engine"), binary(tmp_path / "b" / "engine")
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{program.parent}")
    collection = Collection("exec")
    assert place_words(collection, ["engine"], None) == Placed({0: "cmd/engine"})
    assert collection.files == {"cmd/engine": script}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nod", "bot.js"], "exec:cmd=nod bot.js: there is no program nod on PATH; install it, or name the"),
        (["./nod"], "exec:cmd=./nod: there is no file {here}/nod; name the program by its path"),
        (["./bot.sh", "a b"], "{here}/bot.sh is not executable; run chmod +x {here}/bot.sh, or write "),
        (["./bot.sh", "a b"], "or write cmd=sh ./bot.sh 'a b'"),
        (
            ["bot.js"],
            "{here}/bot.js is not executable; run chmod +x {here}/bot.js, or write cmd=PROGRAM bot.js",
        ),
        (
            ["./data"],
            "{here}/data is a folder; name the program to start, and write folder=./data to take all",
        ),
    ],
)
def test_a_program_that_cannot_be_started_is_refused(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "bot.sh", b"#!/bin/sh\n", 0o644)
    write(tmp_path / "bot.js", b"0", 0o644)
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path)
    for folder in (None, tmp_path):
        with pytest.raises(PluginError) as error:
            place(*words, folder=folder)
        assert said.format(here=tmp_path) in str(error.value)
        assert exit_code(error.value) == Exit.USAGE


def test_files_of_an_interpreter_need_not_be_executable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "bot.py", b"pass", 0o644)
    monkeypatch.chdir(tmp_path)
    assert place(sys.executable, "bot.py") == Placed({1: "cmd/bot.py"}, sys.executable)
    assert place() == Placed({})


@pytest.mark.parametrize(
    ("first_line", "said"),
    [
        (
            b"#!/no/such/program -x\n",
            "names /no/such/program, which does not exist; install it, or name another",
        ),
        (b"#! /usr/bin/env -S python9 -u\n", "names python9, which is not on PATH; install it, or name"),
        (b"#!/bin/sh\r\n", "#!/bin/sh, ends in a carriage return, as on Windows; save the file with Unix"),
    ],
)
def test_what_runs_a_script_must_be_there(first_line: bytes, said: str, tmp_path: Path) -> None:
    script = write(tmp_path / "bot", first_line)
    with pytest.raises(PluginError) as error:
        place(str(script))
    assert f"exec: the first line of {script}, #!" in str(error.value)
    assert said in str(error.value)


@pytest.mark.parametrize(
    "first_line", [b"#!/bin/sh\n", b"#!/usr/bin/env sh\n", b"#!/usr/bin/env X=1 sh\n", b""]
)
def test_a_script_whose_interpreter_is_there_is_taken(first_line: bytes, tmp_path: Path) -> None:
    assert place(str(write(tmp_path / "bot", first_line))) == Placed({0: "cmd/bot"})


@pytest.fixture
def site(tmp_path: Path) -> Path:
    site = tmp_path / "venv" / "lib" / "python3.11" / "site-packages"
    (site / "tool-1.2.dist-info").mkdir(parents=True)
    (tmp_path / "venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (site / "tool-1.2.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: tool\nVersion: 1.2\n")
    (site / "tool-1.2.dist-info" / "RECORD").write_text("tool.py,,\ntool-1.2.dist-info/METADATA,,\n")
    (site / "tool.py").write_text("x = 1\n")
    (site / "own").mkdir()
    (site / "own" / "brain.py").write_text("y = 1\n")
    (site / "own.pth").write_text("/elsewhere\n")
    return site


def needs(site: Path) -> dict[str, str]:
    collection = Collection("exec")
    add_environment(collection, str(site.parents[2] / "bin" / "python"))
    assert collection.files == {}
    return collection.needs


def test_packages_count_by_version_and_other_modules_by_their_bytes(site: Path) -> None:
    found = needs(site)
    assert found.keys() == {"environment tool", "environment own", "environment own.pth"}
    assert found["environment tool"] == "1.2"
    (site / "own" / "__pycache__").mkdir()
    (site / "own" / "__pycache__" / "brain.pyc").write_bytes(b"x")
    # A module that is a single file has its bytecode in the folder of all packages.
    (site / "__pycache__").mkdir()
    (site / "__pycache__" / "tool.pyc").write_bytes(b"x")
    assert needs(site) == found
    (site / "own" / "brain.py").write_text("y = 2\n")
    changed = needs(site)
    assert changed["environment own"] != found["environment own"]
    assert changed["environment own.pth"] == found["environment own.pth"]
    (site / "own" / "brain.py").rename(site / "own" / "mind.py")
    assert needs(site)["environment own"] != changed["environment own"]


def test_quoted_names_and_lists_of_older_installers_are_read(site: Path) -> None:
    record = site / "tool-1.2.dist-info" / "RECORD"
    record.write_text(record.read_text() + '"own, ""brain""/a, b.py",,\n../../../bin/tool,,\n\n')
    (site / 'own, "brain"').mkdir()
    (site / "old-3.egg-info").mkdir()
    (site / "old-3.egg-info" / "PKG-INFO").write_text("Metadata-Version: 1.0\nName: old\nVersion: 3\n")
    (site / "old-3.egg-info" / "SOURCES.txt").write_text("old/__init__.py\n")
    (site / "old").mkdir()
    (site / "old" / "__init__.py").write_text("")
    found = needs(site)
    assert found.keys() == {"environment tool", "environment old", "environment own", "environment own.pth"}
    assert found["environment old"] == "3"


def test_a_module_that_cannot_be_hashed_is_refused(site: Path, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (site / "own" / "link").symlink_to(tmp_path / "far")
    with pytest.raises(PluginError, match="leads out of"):
        needs(site)


def test_an_interpreter_without_an_environment_adds_nothing(tmp_path: Path) -> None:
    collection = Collection("exec")
    add_environment(collection, str(tmp_path / "bin" / "python"))
    assert collection.needs == {}
