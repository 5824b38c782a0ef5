"""Pages are well formed: blocks contain commands, links resolve; tests/e2e/test_pages.py runs the blocks."""

from __future__ import annotations

import re
import shlex

from pages import NOT_RUN, PAGES, blocks, commands
from source_tree import ROOT


def test_console_blocks_hold_commands() -> None:
    for page in PAGES:
        for block in blocks(page):
            if block.language == "console":
                assert commands(block.body), block
                assert all(shlex.split(command) for command, _ in commands(block.body)), block


def test_blocks_are_recognised() -> None:
    body = "$ a \\\n  b\nshown\n$ c\n"
    assert commands(body) == [("a    b", "shown\n"), ("c", "")]
    assert NOT_RUN.search("text\n<!-- not run: it needs the network -->\n")
    assert not NOT_RUN.search("<!-- not run: -->\n")


def test_links_to_files_lead_somewhere() -> None:
    broken: list[str] = []
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text(encoding="utf-8")):
            broken += [] if (page.parent / target).exists() else [f"{page.relative_to(ROOT)}: {target}"]
    assert broken == []
