"""Every `python` and `console` block of README and docs runs, in an empty folder, within a deadline."""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from children import arena_environment, run_child
from source_tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[a-z]+)\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
NOT_RUN = re.compile(r"<!-- not run: (?P<reason>(?:(?!-->).){10,}) -->\s*\Z", re.DOTALL)
EXACT = re.compile(r"<!-- exact -->\s*\Z")
FILE = re.compile(r"<!-- file: (?P<name>\S+) -->\s*\Z")
DEADLINE = 120.0


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


def _blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page,
            text.count("\n", 0, found.start()) + 1,
            found["language"],
            re.sub(rf"^{found['indent']}", "", found["body"], flags=re.MULTILINE),
            text[: found.start()],
        )
        for found in FENCE.finditer(text)
    ]


def _commands(body: str) -> list[tuple[str, str]]:
    """Give each command after `$ `, lines ended by a backslash joined, with the output below it."""
    commands: list[tuple[str, str]] = []
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, output = re.sub(r"\\\n", " ", part).partition("\n")
        commands.append((command, output))
    return commands


def _run_block(block: Block, folder: Path) -> None:
    env = arena_environment(folder)
    if file := FILE.search(block.before):
        target = folder / file["name"]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(block.body, encoding="utf-8")
    if block.language == "python":
        run_child([sys.executable, "-W", "error", "-c", block.body], cwd=folder, env=env, deadline=DEADLINE)
    for command, output in _commands(block.body) if block.language == "console" else []:
        done = run_child(["sh", "-ec", command], cwd=folder, env=env, deadline=DEADLINE)
        if EXACT.search(block.before):
            assert done.stdout.strip() == output.strip(), command


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_blocks_of_a_page_run(page: Path, tmp_path: Path) -> None:
    """Run the blocks of one page from top to bottom in one folder, as a reader would."""
    for block in _blocks(page):
        if block.is_run:
            try:
                _run_block(block, tmp_path)
            except AssertionError as error:
                raise AssertionError(f"{block}: {error}") from error


def test_console_blocks_hold_commands() -> None:
    for page in PAGES:
        for block in _blocks(page):
            if block.language == "console":
                assert _commands(block.body), block
                assert all(shlex.split(command) for command, _ in _commands(block.body)), block


def test_blocks_are_recognised() -> None:
    body = "$ a \\\n  b\nshown\n$ c\n"
    assert _commands(body) == [("a    b", "shown\n"), ("c", "")]
    assert NOT_RUN.search("text\n<!-- not run: it needs the network -->\n")
    assert not NOT_RUN.search("<!-- not run: -->\n")


def test_links_to_files_lead_somewhere() -> None:
    broken: list[str] = []
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text(encoding="utf-8")):
            broken += [] if (page.parent / target).exists() else [f"{page.relative_to(ROOT)}: {target}"]
    assert broken == []
