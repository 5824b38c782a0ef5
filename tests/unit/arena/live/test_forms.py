"""The form of an export as a command line."""

from __future__ import annotations

import pytest

from arena.errors import ConfigError
from arena.live.forms import ExportForm, ExportPreview


def test_only_what_is_written_is_in_the_line() -> None:
    assert ExportForm(out="data").words([]) == ["export", "--format=npz", "--", "data"]


def test_every_field_is_in_the_line() -> None:
    form = ExportForm(
        format="parquet",
        out=" -out ",
        limit="5",
        split="0.9",
        dedup="on",
        disjoint="on",
        forfeits="on",
        unrated="on",
    )
    words = form.words(["--bot=az"])
    assert words[:3] == ["export", "--format=parquet", "--bot=az"]
    assert {"--split=0.9", "--limit=5", "--dedup", "--disjoint", "--include-forfeits", "--unrated"} < set(
        words
    )
    assert words[-2:] == ["--", "-out"]


def test_a_place_is_needed() -> None:
    with pytest.raises(ConfigError, match="out: name the folder"):
        ExportForm().words([])


def test_a_preview_in_words() -> None:
    found = ExportPreview(num_matches=26, num_positions=213, games=("tic-tac-toe",))
    assert found.text == "26 matches of tic-tac-toe, 213 positions"
    assert "no match fits" in ExportPreview().text
    assert "2 games: a, b" in ExportPreview(num_matches=2, games=("a", "b")).text
