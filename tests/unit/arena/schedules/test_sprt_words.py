"""The notation of sequential tests."""

from __future__ import annotations

import pytest

from arena.errors import ConfigError
from arena.schedules.sprt_schedule import SprtTest
from arena.schedules.sprt_words import parse_sprt, sprt_text


def test_presets() -> None:
    assert parse_sprt("gain") == SprtTest(elo0=0, elo1=30, alpha=0.05, beta=0.05, model="normalized")
    assert parse_sprt(" non-regression ") == SprtTest(elo0=-30, elo1=0)
    assert parse_sprt("non-regression,alpha=0.01,elo1=-5") == SprtTest(elo0=-30, elo1=-5, alpha=0.01)


def test_keys_are_those_of_other_programs() -> None:
    assert parse_sprt("elo0=1.5,elo1=5,alpha=0.1,beta=0.2,model=logistic") == SprtTest(
        elo0=1.5, elo1=5, alpha=0.1, beta=0.2, model="logistic"
    )
    assert parse_sprt("elo1=10, beta=0.01") == SprtTest(elo1=10, beta=0.01)


@pytest.mark.parametrize(
    "text", ["gain", "non-regression", "elo0=-1.25,elo1=2.5,alpha=0.001,beta=0.3,model=logistic"]
)
def test_what_is_written_is_read_again(text: str) -> None:
    test = parse_sprt(text)
    assert parse_sprt(sprt_text(test)) == test
    assert sprt_text(parse_sprt("gain")) == "elo0=0,elo1=30,alpha=0.05,beta=0.05,model=normalized"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is unknown"),
        ("gian", 'did you mean "gain"'),
        ("minimax", "write gain, non-regression or elo0="),
        ("elo2=3", 'did you mean "elo'),
        ("gain,gain", '"gain" is unknown'),
        ("elo0", "is unknown"),
        ("model", "is unknown"),
        ("elo0=x", "elo0=x is not a number"),
        ("elo0=nan", "elo0=nan is not a number"),
        ("elo1=inf", "elo1=inf is not a number"),
        ("elo0=30,elo1=30", "must be below"),
        ("elo0=40", "must be below"),
        ("alpha=0", "alpha"),
        ("alpha=0.5,beta=0.5", "alpha"),
        ("model=bayesian", "model=normalized or model=logistic"),
        ("model=logistc", 'did you mean "logistic"'),
    ],
)
def test_anything_else_is_refused_with_the_way_out(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match="--sprt ") as caught:
        parse_sprt(text)
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
