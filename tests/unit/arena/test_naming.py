"""Labels that are too long are cut and stay distinct; texts that the store cannot hold are refused."""

from __future__ import annotations

import hashlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.errors import ConfigError
from arena.naming import check_text, cut_label


@settings(derandomize=True)
@given(st.text(max_size=600))
def test_a_label_fits(text: str) -> None:
    label = cut_label(text)
    assert len(label) <= 256
    assert cut_label(label) == label
    if len(text) <= 256:
        assert label == text
    else:
        digest = hashlib.sha256(text.encode()).hexdigest()
        assert label == f"{text[:246]}…+{digest[:8]}"


def test_labels_that_differ_at_the_end_stay_apart() -> None:
    labels = {cut_label("x" * 300 + str(number)) for number in range(1000)}
    assert len(labels) == 1000
    assert all(re.fullmatch(r"x{246}…\+[0-9a-f]{8}", label) for label in labels)
    assert len(cut_label("\udc80" * 257)) == 256


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x" * 4097, "--event has 4,097 characters; give at most 4,096"),
        ("a\0b", "--event contains a NUL character"),
        ("a\udc80", r"--event is not valid UTF-8 \(character 2\)"),
    ],
)
def test_what_the_store_cannot_hold(text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        check_text("--event", text)
    assert check_text("--event", "ä" * 4096) == "ä" * 4096
