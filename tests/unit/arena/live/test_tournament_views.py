"""The form of a tournament as a command line, and its estimated duration in words."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from msgspec.structs import replace

from arena.errors import ConfigError
from arena.live.tournament_views import Estimate, TournamentForm, command_line


def test_only_what_is_written_is_in_the_line() -> None:
    words = TournamentForm(bots="mcts:playouts=20 random").words()
    assert words == ["tournament", "--", "mcts:playouts=20", "random"]
    assert command_line(words) == "arena tournament -- mcts:playouts=20 random"


def test_every_field_is_in_the_line() -> None:
    form = TournamentForm(
        bots="a 'kaggle:file=my agent.py'",
        type="gauntlet",
        game="gomoku:size=6,k=4",
        rounds="3",
        games="1",
        tc="60+0.6",
        nodes=" 50 ",
        openings="none",
        isolation="T1",
        concurrency="-1",
        name="spring",
        more="--max-time 60",
    )
    words = form.words()
    assert words[:3] == ["tournament", "--type=gauntlet", "--game=gomoku:size=6,k=4"]
    assert "--concurrency=-1" in words
    assert "--nodes=50" in words
    assert words[-5:] == ["--max-time", "60", "--", "a", "kaggle:file=my agent.py"]
    line = command_line(words, "/a b/c.db")
    assert shlex.split(line) == ["arena", "tournament", "--db", "/a b/c.db", *words[1:]]


def test_a_match_is_a_command_of_its_own() -> None:
    assert TournamentForm(bots="a b", type="match").words() == ["match", "--", "a", "b"]


@pytest.mark.parametrize(
    ("form", "line"),
    [
        (
            {"type": "swiss", "rounds": "7", "pairs": "3"},
            "tournament --type=swiss --rounds=7 --pairs=3 -- a b",
        ),
        (
            {"type": "knockout", "elimination": "double", "tie_pairs": "1", "seeding": "leaderboard"},
            "tournament --type=knockout --tie-pairs=1 --seeding=leaderboard --double -- a b",
        ),
        (
            {"type": "knockout", "elimination": "third place"},
            "tournament --type=knockout --third-place -- a b",
        ),
        ({"type": "ladder", "name": "weekly", "until": "25"}, "ladder run --until=error=25 -- weekly a b"),
        (
            {"type": "ladder", "name": "weekly", "until": "error=9"},
            "ladder run --until=error=9 -- weekly a b",
        ),
        ({"type": "test"}, "test -- a b"),
        (
            {"type": "test", "bounds": "non-regression", "then_rate": "0", "pairs": "300", "name": "t"},
            "test --pairs=300 --sprt=non-regression --then-rate=0 --name=t -- a b",
        ),
        # Values of another tournament type stay in their fields and are not passed on.
        (
            {"type": "knockout", "rounds": "5", "until": "9", "games": "1"},
            "tournament --type=knockout -- a b",
        ),
        ({"type": "match", "pairs": "5", "elimination": "double"}, "match -- a b"),
    ],
)
def test_each_type_has_options_of_its_own(form: dict[str, str], line: str) -> None:
    words = TournamentForm(bots="a b", **form).words()
    assert " ".join(words) == line


def test_the_store_stands_behind_the_command_of_a_group() -> None:
    words = TournamentForm(bots="a b", type="ladder", name="weekly").words()
    assert command_line(words, "x.db") == "arena ladder run --db x.db -- weekly a b"


def test_a_ladder_needs_a_name() -> None:
    with pytest.raises(ConfigError, match="give the ladder a name"):
        TournamentForm(bots="a b", type="ladder").words()


@pytest.mark.parametrize(("field", "value"), [("bots", ""), ("bots", "a 'b"), ("more", "'x")])
def test_what_cannot_be_a_line_is_refused(field: str, value: str) -> None:
    with pytest.raises(ConfigError, match=r"bots|more"):
        TournamentForm(**{"bots": "a b", field: value}).words()


def test_an_estimate_says_what_it_goes_by() -> None:
    known = Estimate(matches=90, workers=3, seconds=720.0, num_stored=240, num_pairs=6, num_known=3)
    assert (
        known.text
        == "90 matches, 3 at once, about 12 min, a guess (240 stored matches, 3 of 6 pairs have met)"
    )
    assert "at most 12 min by the clocks" in Estimate(matches=9, workers=1, seconds=720.0, is_bound=True).text
    assert "duration unknown" in Estimate(matches=9, workers=1, seconds=None).text


def test_an_estimate_says_what_decides_how_many_there_are() -> None:
    counts: dict[str, Any] = {"num_stored": 240, "num_pairs": 6, "num_known": 6}
    known = "240 stored matches, 6 of 6 pairs have met"
    knockout = Estimate(matches=8, workers=2, seconds=60.0, is_least=True, **counts)
    assert knockout.text == f"at least 8 matches, 2 at once, about 60 s ({known})"
    ladder = Estimate(matches=None, workers=3, seconds=6.0, note="it plays until it is stopped", **counts)
    assert ladder.text == f"it plays until it is stopped; 3 matches at once, about 30 a minute ({known})"
    unknown = Estimate(matches=None, workers=3, seconds=6.0, is_bound=True, note="it plays on")
    assert unknown.text == "it plays on; 3 matches at once"
    assert replace(unknown, workers=1).text == "it plays on; 1 match at once"
