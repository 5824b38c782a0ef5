from __future__ import annotations

import hashlib
import os
import shutil
import sys
from pathlib import Path

import pytest

from arena.errors import ArenaError, PluginError
from arena.shelf import install as installing
from arena.shelf.install import install, remove
from arena.shelf.listing import find_bot, list_bots
from arena.shelf.records import read_record, wheel_folders
from wheels import BOT, Metadata, make_index, make_wheel

MODULE = {"a_bot.py": BOT}


def wheel_of(folder: Path, *bots: str, name: str = "a_bot", requires: tuple[str, ...] = ()) -> Path:
    return make_wheel(
        folder / "dist", name, dict.fromkeys(bots or ("a-bot",), "a_bot"), MODULE, Metadata(requires=requires)
    )


def test_what_is_installed_is_on_record(my_bots: Path, filled: Path) -> None:
    (wheel,) = filled.parent.parent.glob("*.whl")
    installed = read_record(my_bots)
    assert (installed.distribution, installed.version, installed.wheel) == ("My_Bots", "1.0", wheel.name)
    assert installed.sha256 == hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert installed.also == {}
    assert sorted(path.name for path in my_bots.iterdir()) == ["install.toml", "lib"]
    assert my_bots == my_bots.parents[1] / "my-bots" / f"1.0-{installed.sha256[:8]}"
    assert [path.name for path in my_bots.parents[1].iterdir()] == ["my-bots"]


def test_what_the_arena_lacks_comes_along(tmp_path: Path, shelf: Path) -> None:
    """The dependency contains a bot too, which is not installed, and the arena itself is never downloaded."""
    inner = make_wheel(
        tmp_path, "inner", {"inner": "inner"}, {"inner.py": BOT}, Metadata(requires=["bot-arena"])
    )
    outer = wheel_of(tmp_path, requires=("bot-arena", "numpy>=2", "inner>=0.5"))
    receipt = install("a_bot==1.0", index=make_index(tmp_path / "index", inner, outer))
    assert receipt.bots == ("a-bot",)
    assert receipt.installed.also == {inner.name: hashlib.sha256(inner.read_bytes()).hexdigest()}
    (folder,) = (shelf / "a-bot").iterdir()
    assert read_record(folder) == receipt.installed
    assert {path.name for path in (folder / "lib").glob("*.py")} == {"a_bot.py", "inner.py"}
    assert "inner" not in list_bots().entries


def test_the_hash_may_be_demanded(tmp_path: Path, shelf: Path) -> None:
    wheel = wheel_of(tmp_path)
    real = hashlib.sha256(wheel.read_bytes()).hexdigest()
    with pytest.raises(PluginError, match=f"has the SHA-256 {real}, not {'0' * 64}"):
        install(str(wheel), sha256="0" * 64)
    assert list(shelf.iterdir()) == []
    assert install(str(wheel), sha256=real.upper()).installed.sha256 == real


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("a_bot-1.0.tar.gz", "only wheels"),
        ("./project", "only wheels"),
        ("a-bot @ https://example.org/a_bot-1.0.tar.gz", "only wheels"),
        ("a-bot; python_version > '3'", "only wheels"),
        ("-r names.txt", "only wheels"),
        ("missing-1.0-py3-none-any.whl", "there is no file missing-1.0-py3-none-any.whl"),
        ("bot-arena", "is the arena itself"),
        ("Bot.Arena>=1", "is the arena itself"),
        ("NumPy", "numpy .* is in the arena's own environment"),
    ],
)
def test_what_is_no_wheel_is_refused(what: str, message: str, shelf: Path) -> None:
    with pytest.raises(PluginError, match=message):
        install(what)
    assert list(shelf.iterdir()) == []


@pytest.mark.parametrize(
    ("bots", "message"),
    [
        ((), r"no entry point in the group arena\.bots"),
        (("[/]",), "is not a name"),
        (("one", "ONE"), "is offered by"),
        (("Random",), 'there is a bot "random" from bot-arena'),
        (("fresh", "RIGHT"), 'there is a bot "right" from My_Bots'),
    ],
)
@pytest.mark.usefixtures("my_bots")
def test_bad_and_taken_names_are_refused(bots: tuple[str, ...], message: str, tmp_path: Path) -> None:
    before = sorted(list_bots().entries)
    wheel = make_wheel(tmp_path, "other", dict.fromkeys(bots, "a_bot"), MODULE)
    with pytest.raises(PluginError, match=message):
        install(str(wheel))
    assert sorted(list_bots().entries) == before


def test_a_failure_of_pip_leaves_nothing(tmp_path: Path, shelf: Path) -> None:
    other = wheel_of(tmp_path)
    foreign = other.rename(other.with_name("a_bot-1.0-cp27-none-win32.whl"))
    with pytest.raises(ArenaError, match=r"pip install: .* is not a supported wheel on this platform"):
        install(str(foreign))
    with pytest.raises(ArenaError, match="pip download: No matching distribution found for a-bot"):
        install("a-bot", index=make_index(tmp_path / "index", wheel_of(tmp_path, name="b_bot")))
    assert list(shelf.iterdir()) == []


def test_an_sdist_in_an_index_is_no_wheel(tmp_path: Path, shelf: Path) -> None:
    page = tmp_path / "index" / "a-bot"
    page.mkdir(parents=True)
    (page / "a_bot-1.0.tar.gz").touch()
    (page / "index.html").write_text('<!DOCTYPE html><a href="a_bot-1.0.tar.gz">a_bot-1.0.tar.gz</a>')
    with pytest.raises(ArenaError, match="pip download: No matching distribution"):
        install("a-bot", index=(tmp_path / "index").as_uri())
    assert list(shelf.iterdir()) == []


def test_without_pip_the_way_out_is_told(
    tmp_path: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    with pytest.raises(ArenaError, match="-m ensurepip"):
        install(str(wheel_of(tmp_path)))
    assert list(shelf.iterdir()) == []


def test_an_interrupt_leaves_nothing(tmp_path: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remains of a killed process are ignored at once, and removed a day later."""
    killed = shelf / ".work-1"
    (killed / "done" / "lib").mkdir(parents=True)
    os.utime(killed, (0, 0))
    living = shelf / ".work-2"
    living.mkdir()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(installing, "unpack", interrupt)
    with pytest.raises(KeyboardInterrupt):
        install(str(wheel_of(tmp_path)))
    assert list(shelf.iterdir()) == [living]
    assert wheel_folders() == []


def test_of_two_at_once_the_second_is_refused(
    tmp_path: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unpack(_: object, folder: Path) -> None:
        folder.joinpath("mine").touch()
        (shelf / "a-bot" / place / "lib").mkdir(parents=True)

    wheel = wheel_of(tmp_path)
    place = f"1.0-{hashlib.sha256(wheel.read_bytes()).hexdigest()[:8]}"
    monkeypatch.setattr(installing, "unpack", unpack)
    with pytest.raises(OSError, match="Directory not empty"):
        install(str(wheel))
    assert [path.name for path in shelf.rglob("*")] == ["a-bot", place, "lib"]


@pytest.mark.parametrize("name", ["left", "RIGHT", "my_bots", "My.Bots"])
def test_remove(my_bots: Path, name: str) -> None:
    assert remove(name) == ["left", "right"]
    assert list(my_bots.parents[1].iterdir()) == []
    with pytest.raises(PluginError, match='no bot "left"'):
        find_bot("left")


def test_a_damaged_one_can_be_removed(my_bots: Path) -> None:
    (my_bots / "install.toml").write_bytes(b"\xff")
    assert remove("my-bots") == []
    assert not my_bots.exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("minimax", "came with bot-arena into the arena's own environment"),
        ("numpy", r"no installed wheel has a bot or a name numpy \(installed: my-bots\)"),
        ("../my-bots", "no installed wheel"),
        (".", "no installed wheel"),
    ],
)
def test_what_cannot_be_removed(my_bots: Path, name: str, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        remove(name)
    assert my_bots.is_dir()


def test_two_packages_of_one_name_are_not_guessed(my_bots: Path) -> None:
    shutil.copytree(my_bots.parent, my_bots.parents[1] / "left")
    with pytest.raises(
        PluginError, match=r"left matches several packages \(left, my-bots\); name the package"
    ):
        remove("left")
    assert remove("my-bots") == ["left", "right"]
    assert remove("left") == ["left", "right"]


def test_nothing_of_the_wheel_runs(tmp_path: Path, shelf: Path) -> None:
    canary = tmp_path / "canary"
    line = f"import pathlib; pathlib.Path({str(canary)!r}).touch()\n"
    files = {"evil.py": line, "evil.pth": line, "sitecustomize.py": line, "setup.py": line}
    install(str(make_wheel(tmp_path, "evil", {"evil": "evil"}, files)))
    assert Path(find_bot("evil").folder).parents[1] == shelf / "evil"
    assert not canary.exists()
    assert "evil" not in sys.modules
