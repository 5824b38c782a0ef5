"""Pages of the documentation: their fenced blocks, and a reader who follows them in a shell."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from children import arena_environment, run_child
from preloaded import Wish
from source_tree import ROOT

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping

    from preloaded import Preloaded

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LESSONS = tuple(
    ROOT / "docs" / "tutorials" / f"{name}.md"
    for name in ("train-your-first-net", "a-net-that-teaches-itself")
)
"""Pages that train; their results are checked in tests of their own."""
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[a-z]+)\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
NOT_RUN = re.compile(r"<!-- not run: (?P<reason>(?:(?!-->).){10,}) -->\s*\Z", re.DOTALL)
EXACT = re.compile(r"<!-- exact -->\s*\Z")
SMALLER = re.compile(r"<!-- smaller where tested: (?P<changes>(?:(?!-->).)+) -->\s*\Z", re.DOTALL)
"""A comment with replacements that make a training short in tests: `steps=200 -> steps=2; …`."""
FILE = re.compile(r"<!-- file: (?P<name>\S+) -->\s*\Z")
_DEADLINE = 300.0
_NO_NETWORK = {
    "PIP_CONFIG_FILE": "/dev/null",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    # Build backends are those of the test environment.
    "PIP_NO_BUILD_ISOLATION": "0",
    "PIP_NO_INDEX": "1",
}
_STATE = "{ pwd -P; /usr/bin/env -0; } >"
"""Writes the current folder and the variables, by programs that read none of the reader's files."""


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: Path
    line: int
    language: str
    body: str
    before: str
    """The page up to the block; its last comment says how to run it."""

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT).as_posix()}:{self.line}"

    @property
    def is_run(self) -> bool:
        return not NOT_RUN.search(self.before)


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page from top to bottom."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page,
            text.count("\n", 0, found.start()) + 1,
            found["language"],
            _smaller(
                re.sub(rf"^{found['indent']}", "", found["body"], flags=re.MULTILINE),
                SMALLER.search(text[: found.start()]),
            ),
            text[: found.start()],
        )
        for found in FENCE.finditer(text)
    ]


def _smaller(body: str, found: re.Match[str] | None) -> str:
    for change in found["changes"].split(";") if found else ():
        written, arrow, run = change.strip().partition(" -> ")
        assert arrow, change
        assert written in body, f"nothing says {written}"
        body = body.replace(written, run)
    return body


def commands(body: str) -> list[tuple[str, str]]:
    """Return each command after `$ `, continued lines joined, with the output below it."""
    found: list[tuple[str, str]] = []
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, output = re.sub(r"\\\n", " ", part).partition("\n")
        found.append((command, output))
    return found


class Opening(NamedTuple):
    """What the first command of a page wrote."""

    folder: Path
    """A copy of all that the page's reader then had."""
    done: subprocess.CompletedProcess[str]


class Reader:
    """Follows a page word for word in one shell: variables and the current folder persist."""

    _openings: ClassVar[dict[tuple[Path, str], Opening]] = {}
    """Tournaments with which pages begin, by interpreter and command; each is played once, then copied."""

    def __init__(
        self, folder: Path, python: Path, env: Mapping[str, str], preloaded: Preloaded | None = None
    ) -> None:
        """Start in `folder`, with `python` and its neighbours first on PATH."""
        self.folder = folder
        self._python = python
        self._preloaded = preloaded
        self._env = dict(env)
        self._has_run = False
        """Whether anything was run: later commands may depend on variables and files of those before."""

    def follow(self, block: Block) -> str:
        """Write the file that a block shows, run its Python or its commands, and compare exact output.

        Returns:
            What the commands wrote to stdout.
        """
        if file := FILE.search(block.before):
            target = self.folder / file["name"]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.body, encoding="utf-8")
        if block.language == "python":
            self._has_run = True
            words = [self._python, "-W", "error", "-c", block.body]
            run_child(words, cwd=self.folder, env=self._env, deadline=_DEADLINE)
        said = ""
        for command, output in commands(block.body) if block.language == "console" else []:
            done = self._run(command)
            said += done.stdout
            if EXACT.search(block.before):
                assert done.stdout.strip() == output.strip(), command
        return said

    def _run(self, command: str) -> subprocess.CompletedProcess[str]:
        is_opening = not self._has_run and not any(self.folder.iterdir())
        self._has_run = True
        if not is_opening or not command.startswith("arena tournament "):
            return self._run_anew(command)
        home = Path(self._env["ARENA_HOME"])
        opening = self._openings.get((self._python, command))
        if opening is not None:
            shutil.copytree(opening.folder, home.parent, dirs_exist_ok=True)
            return opening.done
        done = self._run_anew(command)
        kept = home.parent.with_name(f"{home.parent.name}-opening")
        shutil.copytree(home.parent, kept)
        self._openings[self._python, command] = Opening(kept, done)
        return done

    def _run_anew(self, command: str) -> subprocess.CompletedProcess[str]:
        wish = Wish(command, self.folder, self._env, _DEADLINE)
        done = None if self._preloaded is None else self._preloaded.run(wish)
        if done is not None:
            if done.returncode:
                raise AssertionError(f"{command} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
            return done
        state = Path(self._env["ARENA_HOME"]).with_name("shell-state")
        script = f"{command}\n{_STATE} '{state}'"
        done = run_child(["sh", "-ec", script], cwd=self.folder, env=self._env, deadline=_DEADLINE)
        folder, _, variables = os.fsdecode(state.read_bytes()).partition("\n")
        self.folder = Path(folder)
        self._env = dict(line.split("=", 1) for line in variables.split("\0") if line)
        return done


def reader(folder: Path, python: Path, preloaded: Preloaded | None = None) -> Reader:
    """Return a reader in an empty folder with the arena of an interpreter's environment, and no network.

    Args:
        folder: for the reader's folder and what the arena keeps.
        python: the interpreter.
        preloaded: runs the commands that need no shell; None runs every command in one.
    """
    env = {**arena_environment(folder, scripts=python.parent), **_NO_NETWORK}
    env.pop("PIP_FIND_LINKS", None)
    empty = folder / "reader"
    empty.mkdir()
    return Reader(empty, python, env, preloaded)
