"""The form of a tournament as a command line, and how long it takes in words."""

from __future__ import annotations

import shlex

import pytest

from arena.errors import ConfigError
from arena.live.tournaments import Estimate, TournamentForm, command_line


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
    assert "nobody knows" in Estimate(matches=9, workers=1, seconds=None).text
