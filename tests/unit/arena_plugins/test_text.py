"""Cleaned text is safe, and cleaning it again changes nothing."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena_plugins.text import clean_text

ANY_TEXT = st.text(st.characters())


@given(ANY_TEXT, st.integers(0, 30))
def test_cleaned_text_is_safe(text: str, limit: int) -> None:
    clean = clean_text(text, limit)
    assert len(clean) <= limit
    assert unicodedata.is_normalized("NFC", clean)
    assert not {unicodedata.category(c) for c in clean} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert clean_text(clean, limit) == clean
    clean.encode()


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("plain [/] =cmd", "plain [/] =cmd"),
        ("\x1b[31mred\x1b]52;c;x\x07", "[31mred]52;c;x"),
        ("a\nb\tc\x00d\x7f\x9b", "a b cd"),
        ("\u202egnp.exe\u2066", "gnp.exe"),
        ("z\u200be\u200d\ufeffro", "zero"),
        ("e\u200b\u0301", "\xe9"),
        ("\ud800x", "x"),
    ],
)
def test_what_goes(text: str, clean: str) -> None:
    assert clean_text(text, 100) == clean


def test_it_is_cut() -> None:
    assert clean_text("x" * 10_000, 20) == "x" * 20
