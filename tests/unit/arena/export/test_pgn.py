"""PGN: written matches are read back, and other text is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import ExportError
from arena.export.match_notation import pgn_termination
from arena.export.pgn import RESULTS, MoveComment, PgnMatch, parse_pgn, print_pgn
from arena_plugins import Termination

words = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=12)
moves = st.from_regex(r"[a-z0-9]{1,3}", fullmatch=True)
remarks = st.none() | st.builds(MoveComment, st.none() | st.floats(-1, 1), st.integers(0, 10**9))


@st.composite
def matches(draw: st.DrawFn) -> PgnMatch:
    played = draw(st.lists(st.tuples(moves, remarks), max_size=30))
    texts = {name: draw(words) for name in ("event", "site", "date", "round", "white", "black")}
    return PgnMatch(
        **texts,
        result=draw(st.sampled_from(RESULTS)),
        game=draw(words),
        opening=draw(words),
        time_control=draw(words),
        termination=draw(words),
        reason=draw(words),
        match_id=draw(st.integers(1, 2**40)),
        moves=tuple(move for move, _ in played),
        remarks=tuple(remark for _, remark in played),
    )


def _match(**changes: object) -> PgnMatch:
    plain: dict[str, object] = {
        "event": "Cup",
        "site": "?",
        "date": "2026.01.31",
        "round": "7",
        "white": 'the "A" \\ bot',
        "black": "B",
        "result": "1-0",
        "game": "connect-four",
        "opening": "4",
        "time_control": "5/move",
        "termination": "normal",
        "match_id": 20417,
        "moves": ("4", "4", "5"),
        "remarks": (None, MoveComment(0.25, 130), MoveComment(None, 90)),
    }
    return PgnMatch(**(plain | changes))  # pyright: ignore[reportArgumentType] # a field each


@given(st.lists(matches(), max_size=4))
def test_matches_are_read_as_they_are_written(some: list[PgnMatch]) -> None:
    assert list(parse_pgn("".join(map(print_pgn, some)))) == some


def test_it_looks_as_rating_programs_expect() -> None:
    assert print_pgn(_match()) == (
        '[Event "Cup"]\n[Site "?"]\n[Date "2026.01.31"]\n[Round "7"]\n[White "the \\"A\\" \\\\ bot"]\n'
        '[Black "B"]\n[Result "1-0"]\n[Game "connect-four"]\n[Opening "4"]\n[TimeControl "5/move"]\n'
        '[Termination "normal"]\n[MatchId "20417"]\n\n1. 4 4 {0.25 130} 2. 5 {- 90} 1-0\n\n'
    )


def test_the_sentence_of_an_ending_is_a_tag_where_there_is_one() -> None:
    said = 'B forfeits at ply 4: KeyError: "d" in bot.py:41 (bot_error)'
    text = print_pgn(_match(reason=said))
    assert '[Reason "B forfeits at ply 4: KeyError: \\"d\\" in bot.py:41 (bot_error)"]\n[MatchId' in text
    assert [match.reason for match in parse_pgn(text)] == [said]


def test_long_matches_fill_lines_and_keep_comments_whole() -> None:
    long = _match(moves=("a1",) * 60, remarks=(MoveComment(-0.125, 1000),) * 60)
    lines = print_pgn(long).splitlines()[13:-1]
    assert all(len(line) <= 80 for line in lines)
    assert all(line.count("{") == line.count("}") for line in lines)


@pytest.mark.parametrize(
    "changes",
    [{"moves": ("a b",), "remarks": (None,)}, {"moves": ("1-0",), "remarks": (None,)}, {"event": "a\nb"}],
)
def test_what_cannot_be_written_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ExportError, match="match 20417"):
        print_pgn(_match(**changes))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('[Event "Cup"]', '[Event "Cup]'),
        ('[Event "Cup"]', '[Event "Cup"]\n[Event "Cup"]'),
        ('[Event "Cup"]', '[Opus "Cup"]'),
        ('[Round "7"]\n', ""),
        ('"20417"', '"x"'),
        ("1. 4", "2. 4"),
        ("4 4 {", "4 2. 4 {"),
        (" 1-0\n", " 0-1\n"),
        (" 1-0\n", "\n"),
        ("{0.25 130}", "{0.25}"),
        ("{0.25 130}", "{0.25 130} {0.25 130}"),
        ("1. 4", "{- 1} 1. 4"),
        ('[Result "1-0"]', '[Result "2-0"]'),
        ("1. 4 4 {0.25 130} 2. 5 {- 90} 1-0", "{- 1}"),
        ("1. 4 4 {0.25 130} 2. 5 {- 90} 1-0", "1."),
    ],
)
def test_other_text_is_refused(old: str, new: str) -> None:
    text = print_pgn(_match())
    assert old in text
    with pytest.raises(ExportError, match="match 1 of the PGN"):
        list(parse_pgn(text.replace(old, new, 1)))


def test_tags_without_moves_are_refused() -> None:
    with pytest.raises(ExportError, match="tags but no moves"):
        list(parse_pgn(print_pgn(_match()) + '[Event "Cup"]\n'))


def test_every_termination_has_a_word() -> None:
    known = {"normal", "adjudication", "time forfeit", "illegal move", "abandoned", "unterminated"}
    assert {pgn_termination(kind) for kind in Termination} == known
