"""SGF: written matches are read back, and other text is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import ExportError
from arena.export.pgn import MoveComment
from arena.export.sgf import SgfMatch, parse_sgf, print_sgf

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
remarks = st.none() | st.builds(MoveComment, st.none() | st.floats(-1, 1), st.integers(0, 10**9))


@st.composite
def matches(draw: st.DrawFn) -> SgfMatch:
    size = draw(st.integers(1, 26))
    played = draw(st.lists(st.tuples(st.integers(0, size * size - 1), remarks), max_size=30))
    names = ("game", "event", "site", "date", "round", "black", "white", "time_control", "result")
    return SgfMatch(
        **{name: draw(words) for name in names},
        size=size,
        match_id=draw(st.integers(1, 2**40)),
        actions=tuple(action for action, _ in played),
        remarks=tuple(remark for _, remark in played),
    )


def _match(**changes: object) -> SgfMatch:
    plain: dict[str, object] = {
        "game": "gomoku:k=4,size=6",
        "size": 6,
        "event": "Cup [spring]",
        "site": "",
        "date": "2026-01-31",
        "round": "7",
        "black": "A",
        "white": "B\\C",
        "time_control": "5/move",
        "result": "B+",
        "match_id": 20417,
        "actions": (0, 8, 35),
        "remarks": (None, MoveComment(0.25, 130), MoveComment(None, 90)),
    }
    return SgfMatch(**(plain | changes))  # pyright: ignore[reportArgumentType] # a field each


@given(st.lists(matches(), max_size=4))
def test_matches_are_read_as_they_are_written(some: list[SgfMatch]) -> None:
    assert list(parse_sgf("\n".join(map(print_sgf, some)))) == some


def test_the_first_player_is_black_and_aa_is_on_top_at_the_left() -> None:
    assert print_sgf(_match()) == (
        "(;FF[4]GM[4]CA[UTF-8]AP[arena]RU[gomoku:k=4,size=6]SZ[6]EV[Cup [spring\\]]PC[]DT[2026-01-31]RO[7]"
        "PB[A]PW[B\\\\C]OT[5/move]RE[B+]GN[20417]\n;B[aa]\n;W[cb]C[0.25 130]\n;B[ff]C[- 90])\n"
    )


@pytest.mark.parametrize("changes", [{"size": 27}, {"actions": (36, 0, 1)}, {"actions": (-1, 0, 1)}])
def test_what_cannot_be_written_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ExportError, match="match 20417"):
        print_sgf(_match(**changes))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(;", "x(;"),
        ("(;", "("),
        ("GM[4]", "GM[1]"),
        ("SZ[6]", "SZ[x]"),
        ("SZ[6]", ""),
        ("RO[7]", "RO[7]XX[1]"),
        (";B[aa]", ";W[aa]"),
        (";B[aa]", ";B[gg]"),
        (";B[aa]", ";B[a]"),
        (";B[aa]", ";B[aA]"),
        (";B[aa]", ";B[aa]N[x]"),
        ("C[0.25 130]", "C[130]"),
        (")\n", "(;B[aa]))\n"),
        (")\n", ""),
    ],
)
def test_other_text_is_refused(old: str, new: str) -> None:
    text = print_sgf(_match())
    assert old in text
    with pytest.raises(ExportError, match="match 1 of the SGF"):
        list(parse_sgf(text.replace(old, new, 1)))
