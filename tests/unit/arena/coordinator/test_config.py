from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.coordinator.config import (
    Refusal,
    TournamentConfig,
    config_from,
    parse_toml,
    read_toml,
    refusals,
)
from arena.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SECONDS = st.floats(allow_nan=False, allow_infinity=False)


def optional(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "bots": st.lists(TEXT, max_size=4).map(tuple),
    "game": TEXT,
    "type": st.sampled_from(["round-robin", "gauntlet", "match", "swiss", "knockout", "ladder"]),
    "tie_pairs": st.integers(0, 99),
    "double": st.booleans(),
    "third_place": st.booleans(),
    "seeding": st.sampled_from(["given", "leaderboard"]),
    "rounds": st.integers(-(1 << 63), (1 << 63) - 1),
    "games": st.sampled_from([1, 2]),
    "seeds": st.integers(0, 99),
    "on_preflight": st.sampled_from(["stop", "skip"]),
    "no_swap": st.booleans(),
    "reverse": st.booleans(),
    "openings": TEXT,
    "srand": optional(st.integers(0, (1 << 63) - 1)),
    "tc": optional(TEXT),
    "st": optional(SECONDS),
    "nodes": optional(st.integers(0, 10**18)),
    "timemargin": st.integers(0, 10**9),
    "bank": optional(SECONDS),
    "init_time": SECONDS,
    "isolation": st.sampled_from(["auto", "none", "T1", "T2", "T3"]),
    "require_tier": optional(st.sampled_from(["T0", "T1", "T2", "T3"])),
    "require_limits": optional(st.sampled_from(["kernel", "polled"])),
    "adjudicate": st.sampled_from(["off", "solver"]),
    "executor": st.sampled_from(["local", "inline", "dask:tls://lab:8786"]),
    "keys": optional(TEXT),
    "cluster": optional(TEXT),
    "speed": st.sampled_from([None, "pin", "ignore"]),
    "concurrency": st.integers(-99, 99),
    "force_concurrency": st.booleans(),
    "max_time": optional(SECONDS),
    "stop_when": optional(TEXT),
    "sprt": optional(TEXT),
    "pairs": optional(st.integers(0, 10**6)),
    "then_rate": st.integers(-1, 99),
    "rated": st.booleans(),
    "looks": st.integers(1, 99),
    "anchors": st.lists(TEXT, max_size=2).map(tuple),
    "no_recover": st.booleans(),
    "bot_output": st.sampled_from([None, "all", "faults", "none"]),
    "score_interval": st.integers(0, 99),
    "rating_interval": st.integers(0, 99),
    "log": st.booleans(),
    "event": TEXT,
    "site": TEXT,
    "name": TEXT,
    "refused": st.lists(st.builds(Refusal, TEXT, TEXT), max_size=3).map(tuple),
}
CONFIGS = st.fixed_dictionaries(VALUES).map(lambda values: TournamentConfig(**values))


@given(CONFIGS)
def test_toml_round_trip(config: TournamentConfig) -> None:
    assert parse_toml(config.to_toml(), "test") == config


@given(CONFIGS)
def test_whom_a_stored_tournament_left_out(config: TournamentConfig) -> None:
    assert refusals(config.to_toml()) == config.refused


def test_a_play_and_an_older_tournament_refused_nobody() -> None:
    assert refusals('bot = "random"\ngame = "tic-tac-toe"\n') == ()
    assert refusals("") == ()


def test_every_option_takes_part_in_the_round_trip() -> None:
    assert set(VALUES) == {field.name for field in msgspec.structs.fields(TournamentConfig)}


def test_defaults_are_left_out() -> None:
    assert TournamentConfig().to_toml() == ""
    text = TournamentConfig(bots=("random", "mcts:playouts=5"), no_swap=True, init_time=1.5).to_toml()
    assert text == 'bots = ["random", "mcts:playouts=5"]\nno-swap = true\ninit-time = 1.5\n'
    assert tomllib.loads(text)["no-swap"] is True


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"round": 3}, r'cup.toml: unknown key "round"; did you mean "rounds"\?'),
        ({"no_swap": True}, r'cup.toml: unknown key "no_swap"; did you mean "no-swap"\?'),
        ({"zzz": 1}, 'cup.toml: unknown key "zzz"$'),
        ({"rounds": "3"}, r"cup.toml: .*int.*str.*rounds"),
        ({"rounds": 3.0}, r"cup.toml: .*int.*float.*rounds"),
        ({"no-swap": 1}, r"cup.toml: .*bool.*int.*no-swap"),
        ({"games": 3}, r"cup.toml: .*3.*games"),
        ({"type": "league"}, r"cup.toml: .*league.*type"),
        ({"bots": "random"}, r"cup.toml: .*array.*str.*bots"),
    ],
)
def test_wrong_values_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config_from(values, "cup.toml")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": 0}, "--rounds 0 is too small; give 1 or more"),
        ({"seeds": 0}, "--seeds 0"),
        ({"timemargin": -1}, "--timemargin -1 is too small; give 0"),
        ({"score_interval": -1}, "--score-interval -1"),
        ({"rating_interval": -1}, "--rating-interval -1"),
        ({"st": 0.0}, "--st 0 is not a positive number of seconds"),
        ({"st": float("nan")}, "--st nan"),
        ({"bank": -1.0}, "--bank -1"),
        ({"init_time": float("inf")}, "--init-time inf"),
        ({"max_time": 0.0}, "--max-time 0"),
        ({"nodes": 0}, "--nodes 0 is too small"),
        ({"srand": -1}, "--srand -1 is not a whole number"),
        ({"srand": 1 << 63}, "--srand"),
        ({"stop_when": "elo=3"}, "write error=E"),
        ({"stop_when": "error=x"}, "write error=E"),
        ({"stop_when": "error=0"}, "--stop-when error=0 is not valid; write error=E"),
        ({"stop_when": "12", "type": "ladder"}, "--until 12 is not valid; write error=E"),
        ({"then_rate": -1}, "--then-rate -1 is too small"),
        ({"pairs": 0, "sprt": "gain", "type": "match"}, "--pairs 0 is too small; give 1 or more"),
        ({"pairs": 5}, "--pairs is for --type swiss and knockout; give --rounds"),
        ({"pairs": 5, "type": "match"}, "--pairs belongs to a sequential test; add --sprt gain"),
        ({"then_rate": 5}, "--then-rate belongs to a sequential test"),
        ({"rated": True}, "--rated belongs to a sequential test"),
        ({"sprt": "gain"}, "write arena match A B --sprt gain"),
        ({"sprt": "gain", "type": "match", "games": 1}, "--games 1 cannot be combined with a sequential"),
        ({"sprt": "gain", "type": "match", "no_swap": True}, "--no-swap cannot be combined with"),
        ({"sprt": "gain", "type": "match", "stop_when": "error=9"}, "--stop-when cannot be combined with"),
        ({"sprt": "elo0=9,elo1=9", "type": "match"}, "elo0=9 must be below elo1=9"),
    ],
)
def test_no_tournament_can_be_held_with_these(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TournamentConfig(**changes).check()


def test_the_goal() -> None:
    TournamentConfig(stop_when="error=12.5", srand=0, nodes=1, st=0.1, seeds=2).check()
    assert TournamentConfig(stop_when="error=12.5").error_goal() == 12.5
    assert TournamentConfig().error_goal() is None


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "cup.toml"
    with pytest.raises(ConfigError, match=r"cannot read .*cup\.toml: No such file"):
        read_toml(path)
    path.write_bytes(b"rounds = 3\nbots = [\n")
    with pytest.raises(ConfigError, match=r"cup\.toml is not a TOML file: .*(line 3|end of document)"):
        read_toml(path)
    path.write_bytes(b"rounds = 3\ngames == 2\n")
    with pytest.raises(ConfigError, match=r"cup\.toml is not a TOML file: .*line 2"):
        read_toml(path)
    path.write_bytes(b'name = "\xff"\n')
    with pytest.raises(ConfigError, match=r"is not a TOML file: .*utf-8"):
        read_toml(path)
    path.write_bytes(b"rounds = 3\n")
    assert config_from(read_toml(path), str(path)).rounds == 3


def test_matches_of_a_test_are_not_rated_by_themselves() -> None:
    test = TournamentConfig(type="match", sprt="gain", pairs=300, then_rate=5)
    test.check()
    assert not test.is_rated_by_itself
    assert msgspec.structs.replace(test, rated=True).is_rated_by_itself
    assert TournamentConfig().is_rated_by_itself
