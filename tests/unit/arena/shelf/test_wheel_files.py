from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arena.errors import PluginError
from arena.shelf.wheel_files import Wheel, lacking, read_wheel
from odd_archives import encrypted, with_unknown_compression
from wheels import Metadata, make_wheel

if TYPE_CHECKING:
    from collections.abc import Callable

    from packaging.requirements import Requirement


def test_what_a_wheel_says(tmp_path: Path) -> None:
    path = make_wheel(tmp_path, "my_bot", {"b": "b"}, {}, Metadata(title="My.Bot", requires=["numpy>1"]))
    wheel = read_wheel(path)
    assert wheel[:4] == (path, "my-bot", "My.Bot", "1.0")
    assert wheel.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert wheel.requires == ("numpy>1",)


@pytest.mark.parametrize(
    "name",
    ["my_bot.whl", "my_bot-one-py3-none-any.whl", "-1.0-py3-none-any.whl", "my\u00e4-1.0-py3-none-any.whl"],
)
def test_a_name_of_no_wheel(name: str, tmp_path: Path) -> None:
    path = make_wheel(tmp_path, "my_bot", {}, {})
    with pytest.raises(PluginError, match=r"not a wheel|not a valid name of a wheel"):
        read_wheel(path.rename(tmp_path / name))


@pytest.mark.parametrize("name", ["your_bot-1.0-py3-none-any.whl", "my_bot-2.0-py3-none-any.whl"])
def test_a_name_of_another_wheel(name: str, tmp_path: Path) -> None:
    path = make_wheel(tmp_path, "my_bot", {}, {})
    with pytest.raises(PluginError, match=r"says that it is my_bot 1\.0"):
        read_wheel(path.rename(tmp_path / name))


@pytest.mark.parametrize("metadata", ["", "Version: 1.0\n", "Name: my_bot\n", "Name: my_bot\nVersion: one\n"])
def test_metadata_that_say_nothing(metadata: str, tmp_path: Path) -> None:
    path = tmp_path / "my_bot-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("my_bot-1.0.dist-info/METADATA", metadata)
    with pytest.raises(PluginError, match=r"my_bot-1\.0-py3-none-any\.whl (is not a wheel|says)"):
        read_wheel(path)


def test_two_distributions_in_one(tmp_path: Path) -> None:
    path = make_wheel(tmp_path, "my_bot", {}, {"other-1.0.dist-info/METADATA": "Name: other\nVersion: 1.0\n"})
    with pytest.raises(PluginError, match="or lacks the metadata of exactly one distribution"):
        read_wheel(path)


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x03\x04" + b"\0" * 100])
def test_a_file_that_is_no_zip(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "my_bot-1.0-py3-none-any.whl"
    path.write_bytes(content)
    with pytest.raises(PluginError, match="or lacks the metadata of exactly one distribution"):
        read_wheel(path)


@pytest.mark.parametrize("change", [with_unknown_compression, encrypted])
def test_a_wheel_that_cannot_be_unpacked(change: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "my_bot-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("my_bot-1.0.dist-info/METADATA", "Name: my_bot\nVersion: 1.0\n")
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(PluginError, match=r"my_bot-1\.0-py3-none-any\.whl"):
        read_wheel(path)


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
