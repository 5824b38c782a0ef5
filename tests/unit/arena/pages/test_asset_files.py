"""Files that pages refer to exist, and no page needs more than one style sheet and one script."""

from __future__ import annotations

import re

from arena.pages.asset_files import asset_files, ply_rules
from arena.pages.frame import PageHead, page
from arena.pages.links import Links

LINKS = Links(root="")


def test_a_page_needs_one_style_sheet_and_one_script() -> None:
    for is_replay in (False, True):
        html = page(LINKS, PageHead("title", is_replay=is_replay), [])
        sheets = re.findall(r'<link rel="stylesheet" href="a/([^"]+)"', html)
        scripts = re.findall(r'<script src="a/([^"]+)"', html)
        assert (len(sheets), len(scripts)) == (1, 1)
        assert {*sheets, *scripts, "icon.svg"} <= {*asset_files()}


def test_the_sheet_of_replays_is_that_of_all_pages_and_the_plies() -> None:
    known = asset_files()
    assert known["replay.css"] == known["style.css"] + ply_rules().encode()
