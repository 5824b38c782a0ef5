from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arena.errors import PluginError
from arena.shelf.requirements import lacking
from arena.shelf.wheel_files import Wheel

if TYPE_CHECKING:
    from packaging.requirements import Requirement

INDEX = {
    "alpha": ("1.0", ("beta>=1", "gamma; extra == 'more'", "bot-arena")),
    "beta": ("2.0", ("alpha",)),
    "gamma": ("1.0", ("delta; python_version < '3'", "beta[x]")),
    "ipywidgets": ("8.0", ()),
    "pinned": ("1.0", ("beta<2",)),
}


def wheel(name: str, *requires: str, version: str = "1.0") -> Wheel:
    return Wheel(Path(name), name, name, version, "", requires)


def fetch(wanted: Requirement) -> Wheel:
    version, requires = INDEX[wanted.name]
    return wheel(wanted.name, *requires, version=version)


def names(*requires: str, extras: tuple[str, ...] = ()) -> list[str]:
    return [found.name for found in lacking(wheel("mine", *requires), extras, fetch)]


@pytest.mark.parametrize(
    ("requires", "found"),
    [
        ((), []),
        (("numpy", "bot_arena>=0.1", "Typing.Extensions>1"), []),
        (("alpha",), ["alpha", "beta"]),
        (("alpha[more]",), ["alpha", "beta", "gamma"]),
        (("alpha", "alpha[more]"), ["alpha", "beta", "gamma"]),
        (("beta; sys_platform == 'nowhere'", "gamma"), ["gamma", "beta", "alpha"]),
        (("beta", "beta>1"), ["beta", "alpha"]),
        (("mine",), []),
    ],
)
def test_what_is_lacking(requires: tuple[str, ...], found: list[str]) -> None:
    assert names(*requires) == found


def test_an_extra_of_the_wheel_itself() -> None:
    assert names("pinned; extra == 'old'", "beta; extra == 'new'", extras=("new",)) == ["beta", "alpha"]


def test_an_extra_of_what_the_arena_has() -> None:
    assert names("rich") == []
    assert names("rich[jupyter]") == ["ipywidgets"]


@pytest.mark.parametrize(
    ("requires", "message"),
    [
        (("x @ https://example.org/x-1.0.tar.gz",), "mine needs x from https://example.org/x-1.0.tar.gz"),
        (("bot-arena>=99",), r"mine needs bot-arena>=99, and this is release \S+ of it"),
        (("beta", "pinned"), "pinned needs beta<2, which does not go with beta 2.0"),
        (("not a requirement",), "mine needs 'not a requirement', which is not a valid requirement"),
        (("x; python_version ~= 'abc'",), "which is not a valid requirement"),
        (("mine>2",), "does not go with mine 1.0"),
    ],
)
def test_what_cannot_be_had(requires: tuple[str, ...], message: str) -> None:
    with pytest.raises(PluginError, match=message):
        names(*requires)
