from __future__ import annotations

from pathlib import Path

import pytest

import strange_bots
from arena.entrants import Competitor, LeftOut, resolve
from arena.errors import ConfigError, OptionError, PluginError
from arena.referee.timecontrol import TimeControl
from arena.shelf.kept import keep_bot


@pytest.fixture(autouse=True)
def strange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    strange_bots.install(monkeypatch, tmp_path / "site")


def one(spec: str) -> Competitor:
    return resolve([spec], margin_ms=50)[0]


def identity(spec: str) -> str:
    return one(spec).record.identity


def test_what_is_known_of_a_bot() -> None:
    bot = one("mcts:playouts=5,c=2")
    assert (bot.label, bot.spec, bot.record.spec) == ("mcts:c=2,playouts=5",) * 3
    assert (bot.entry, bot.options, bot.limit) == ("arena_bots.mcts", {"c": "2", "playouts": "5"}, None)
    assert (bot.record.name, bot.record.distribution, bot.record.files) == ("mcts", "bot-arena", "{}")
    assert len(bot.record.identity) == 64


def test_identity_is_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert identity("mcts:c=2,playouts=5") == identity(" mcts:playouts=5,c=2 ")
    assert len({identity(spec) for spec in ("mcts", "mcts:playouts=5", "mcts:playouts=6", "random")}) == 4
    before = identity("strange")
    strange_bots.install(monkeypatch, tmp_path / "newer", "1.1")
    assert identity("strange") != before


def test_a_file_is_known_by_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("here", "one"), ("there", "one"), ("elsewhere", "two")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "net.onnx").write_text(text)
    here, there, elsewhere = (
        f"strange:folder={tmp_path / name / 'net.onnx'}" for name in ("here", "there", "elsewhere")
    )
    assert identity(here) == identity(there) != identity(elsewhere)
    assert one(here).label == one(here).record.spec == "strange:folder=net.onnx"
    assert one(here).spec == here
    monkeypatch.chdir(tmp_path / "there")
    assert one("strange:folder=net.onnx") == one(there)
    before = identity(here)
    (tmp_path / "here" / "net.onnx").write_text("three")
    assert identity(here) != before
    (tmp_path / "here" / "net.onnx").rename(tmp_path / "here" / "other.onnx")
    assert identity(here.replace("net", "other")) != identity(here)


def test_a_number_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = one("mcts:playouts=5,c=1.5,nodes=7")
    monkeypatch.chdir(tmp_path)
    for name in ("5", "1.5", "7"):
        Path(name).touch()
    assert one("mcts:playouts=5,c=1.5,nodes=7") == before
    assert one(f"strange:folder={'x' * 4000}").record.files == "{}"


def test_limits_of_its_own() -> None:
    bot = one("mcts:playouts=5,tc=60+0.5,nodes=9")
    assert bot.options == {"playouts": "5"}
    assert bot.limit == TimeControl.parse("60+0.5", None, 9, margin_ms=50)
    assert bot.label == "mcts:nodes=9,playouts=5,tc=60+0.5"
    assert resolve(["mcts:st=2"], margin_ms=7)[0].limit == TimeControl.parse(None, 2, None, margin_ms=7)


def test_allowed_calls_are_on_record_and_no_affair_of_the_bot() -> None:
    bot = one("mcts:playouts=5,allow=utime+chmod")
    assert (bot.allow, bot.options) == (("utime", "chmod"), {"playouts": "5"})
    assert bot.record.spec == bot.label == "mcts:allow=utime+chmod,playouts=5"
    assert one("mcts").allow == ()


def test_procfs_is_on_record_and_no_affair_of_the_bot() -> None:
    bot = one("mcts:playouts=5,procfs=on")
    assert (bot.procfs, bot.options) == (True, {"playouts": "5"})
    assert bot.record.spec == bot.label == "mcts:playouts=5,procfs=on"
    assert not one("mcts").procfs


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("mcts:allow=ptrace", OptionError, "allow=ptrace is not one of chmod, utime"),
        ("mcts:procfs=yes", OptionError, "procfs=yes is not one of on, off"),
        ("mcts:st=fast", OptionError, "st is a number of seconds"),
        ("mcts:nodes=1.5", OptionError, "nodes a whole number"),
        ("mcts:tc=60,st=1", ConfigError, "exclude each other"),
        ("mcts:st=-1", ConfigError, "st -1"),
        ("mtcs", PluginError, 'no bot "mtcs"; did you mean "mcts"\\?'),
        ("mcts:", PluginError, 'has a ":" but no option'),
        ("", PluginError, "does not begin with a name"),
    ],
)
def test_what_is_refused(spec: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        one(spec)


def test_twins() -> None:
    with pytest.raises(ConfigError, match=r"mcts:c=2,playouts=5 is entered twice; .* arena match A A"):
        resolve(["mcts:playouts=5,c=2", "random", "mcts:c=2,playouts=5"], margin_ms=0)
    first, second = resolve(["mcts", "mcts"], margin_ms=0, twins=True)
    assert (first.label, second.label) == ("mcts", "mcts_2")
    assert first.record == second.record


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "agent.py").write_text(name)
    bots = resolve([f"strange:folder={tmp_path / name / 'agent.py'}" for name in "abc"], margin_ms=0)
    assert [bot.label for bot in bots] == [f"strange:folder={name}/agent.py" for name in "abc"]
    assert bots[0].record.spec == bots[1].record.spec == "strange:folder=agent.py"


def test_a_command_is_known_by_the_files_in_it(tmp_path: Path) -> None:
    for name, text in (("a", "one"), ("b", "one"), ("c", "two")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "engine").write_text(text)
        (tmp_path / name / "engine").chmod(0o755)
    commands = [f'strange:cmd="{tmp_path / name / "engine"} --level 5"' for name in "abc"]
    a, b, c = (one(command) for command in commands)
    assert a.record == b.record != c.record
    assert a.label == "strange:cmd=engine --level 5"
    assert a.options_at("/bot") == {"cmd": "/bot/cmd/engine --level 5"}
    assert a.options_here() == {"cmd": f"{tmp_path / 'a' / 'engine'} --level 5"}
    assert Path(a.place, "cmd", "engine").read_text() == "one"
    assert one(a.spec) == a


def test_bots_that_cannot_be_entered_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "twin.py").write_text("one")
    (tmp_path / "same.py").write_text("one")
    texts = [
        f"strange:folder={tmp_path}/twin.py,name=Anna",
        "mtcs",
        f"strange:folder={tmp_path}/twin.py,name=Carl",
        "random:name=Anna",
        "random",
    ]
    left_out: list[LeftOut] = []
    bots = resolve(texts, margin_ms=0, left_out=left_out)
    assert [bot.label for bot in bots] == ["Anna", "random"]
    assert [(bot.seat, bot.bot) for bot in left_out] == [(seat, texts[seat]) for seat in (1, 2, 3)]
    no_bot, twice, name = (bot.why for bot in left_out)
    assert no_bot.startswith('no bot "mtcs"')
    assert f"{texts[2]} has the same files and options as {texts[0]}" in twice
    assert name == "two bots are called Anna; give them different values of name="
    with pytest.raises(ConfigError, match="two bots are called Anna"):
        resolve([texts[0], texts[3]], margin_ms=0)


def test_files_in_folders_of_one_name_are_told_apart_by_those_above(tmp_path: Path) -> None:
    for name in ("anna/v1", "bert/v1", "bert/v2"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "bot.sh").write_text(f"#!/bin/sh\n# {name}\n")
        (tmp_path / name / "bot.sh").chmod(0o755)
    names = ("anna/v1", "bert/v1", "bert/v2")
    bots = resolve([f"exec:cmd={tmp_path}/{name}/bot.sh" for name in names], margin_ms=0)
    labels = ["exec:cmd=anna/v1/bot.sh", "exec:cmd=bert/v1/bot.sh", "exec:cmd=v2/bot.sh"]
    assert [bot.label for bot in bots] == labels
    bots = resolve([f"exec:folder={tmp_path}/{name},cmd=./bot.sh" for name in names], margin_ms=0)
    labels = [f"exec:cmd=bot.sh,folder={name}" for name in ("anna/v1", "bert/v1", "v2")]
    assert [bot.label for bot in bots] == labels


def test_a_kept_bot_is_entered_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENA_HOME", str(tmp_path / "home"))
    old = one("strange:depth=2")
    address = keep_bot(old.record).address
    strange_bots.install(monkeypatch, tmp_path / "newer", "1.1")
    new, kept = resolve(["strange:depth=2", address], margin_ms=50)
    assert kept.record == old.record != new.record
    assert kept.place == old.place
    assert (new.label, kept.label) == ("strange@1.1:depth=2", "strange@1.0:depth=2")
    assert kept.spec == address == f"strange@{old.content[:8]}:depth=2"
    # The version is enough as well, and digits without the options, if no other options exist.
    assert one("strange@1.0:depth=2").record == one(f"strange@{old.content[:5]}").record == old.record
    named, _ = resolve([f"{address},name=Old", "strange"], margin_ms=50)
    assert (named.label, named.record) == ("Old", old.record)
    assert one(named.spec) == named


def test_two_contents_of_one_version_show_their_digits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARENA_HOME", str(tmp_path / "home"))
    spec = f"strange:folder={tmp_path / 'net.onnx'}"
    (tmp_path / "net.onnx").write_text("one")
    old = keep_bot(one(spec).record)
    (tmp_path / "net.onnx").write_text("two")
    bots = resolve([spec, old.address], margin_ms=50)
    assert bots[1].record == old.record
    assert [bot.label for bot in bots] == [f"strange@1.0+{bot.content[:8]}:folder=net.onnx" for bot in bots]


def test_a_kept_bot_that_cannot_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENA_HOME", str(tmp_path / "home"))
    old = one("strange")
    address = keep_bot(old.record).address
    strange_bots.install(monkeypatch, tmp_path / "newer", "1.1")
    with pytest.raises(PluginError, match="leave out --isolation none"):
        resolve([address], margin_ms=50, in_place=True)
    with pytest.raises(PluginError, match=r"strange@9\.9 is not installed"):
        one("strange@9.9")
    content = Path(old.place)
    content.chmod(0o755)
    content.rename(tmp_path / "away")
    with pytest.raises(PluginError, match=r"remove it with arena bots remove strange@"):
        one(address)
