"""The style of pages: readable in both colour schemes, small, and allowed by a strict security policy."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from arena.pages.asset_files import MAX_PLIES, ply_rules

ASSETS = files("arena.pages") / "assets"
STYLE = (ASSETS / "style.css").read_text(encoding="utf-8")
SCRIPT = (ASSETS / "page.js").read_text(encoding="utf-8")
LIGHT, DARK, PAPER = (
    dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6})", block))
    for block in re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
)


PRINT = LIGHT | PAPER
SHADES = re.findall(
    r"\.(h\d) \{ background: color-mix\(in srgb, var\(--(\w+)\) (\d+)%, var\(--card\)\)", STYLE
)


def _mixed(one: str, other: str, share: float) -> str:
    """Return a mix of two colours with `share` of the first one, as `color-mix(in srgb)` computes it."""
    parts = [(int(one[place : place + 2], 16), int(other[place : place + 2], 16)) for place in (1, 3, 5)]
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in parts)


def _luminance(colour: str) -> float:
    """Return the relative luminance of a colour as defined by WCAG 2.2."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_measure_is_that_of_the_standard() -> None:
    assert _contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert _contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("scheme", [LIGHT, DARK, PRINT], ids=["light", "dark", "print"])
@pytest.mark.parametrize("ground", ["paper", "card", "here"])
def test_text_can_be_read(scheme: dict[str, str], ground: str) -> None:
    for name in ("ink", "quiet", "link", "win", "loss"):
        assert _contrast(scheme[name], scheme[ground]) >= 4.5, (name, ground)


@pytest.mark.parametrize("scheme", [LIGHT, DARK, PRINT], ids=["light", "dark", "print"])
def test_cells_of_the_crosstable_can_be_read(scheme: dict[str, str]) -> None:
    assert {name for name, _, _ in SHADES} == {f"h{number}" for number in (1, 2, 3, 5, 6, 7, 8)}
    assert ".grid td a { color: inherit;" in STYLE
    # The first shade is the strongest: its rule names several elements and is narrowed by the next rules.
    assert ".h0, .h1, .h2, .h3 { background: color-mix(in srgb, var(--loss) 26%" in STYLE
    for name, colour, share in [*SHADES, ("h0", "loss", "26")]:
        ground = _mixed(scheme[colour], scheme["card"], int(share) / 100)
        assert _contrast(scheme["ink"], ground) >= 4.5, name


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_marks_can_be_seen(scheme: dict[str, str]) -> None:
    for name in ("a", "b", "link", "quiet"):
        assert _contrast(scheme[name], scheme["card"]) >= 3, name
    assert _contrast(scheme["hole"], scheme["sheet"]) >= 1.8


def test_what_is_loaded_is_small_and_ours() -> None:
    assert len(SCRIPT.encode()) <= 6_000
    assert len(STYLE.encode()) <= 30_000
    assert not re.search(r"https?:|@import|url\(|expression", STYLE)
    assert not re.search(r"https?:|eval|innerHTML|document\.write|\.style\b", SCRIPT)


def test_each_ply_has_its_rules() -> None:
    rules = ply_rules(2).split("\n")
    assert len(rules) == 3
    assert rules[1].startswith("#p1:target~* .g2{display:none}")
    assert "#p1:target~* .s1{display:flex}" in rules[1]
    assert len(ply_rules().split("\n")) == MAX_PLIES + 1
    # The longest match of the bundled games: a full board of Gomoku.
    assert MAX_PLIES >= 19 * 19
