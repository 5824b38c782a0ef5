"""Hostile texts and files are refused in one line before any bot is started, and never control a terminal."""

from __future__ import annotations

import os
import unicodedata
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from arena_db.backend.sqlite.engine import find_driver
from command_line import FAST

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import CommandLine

EVIL = "=a\x1b[2J\x9b31m\u202eb\x1b]52;c;eA==\x07\r\nc\u2028\x7f\U000e0041d"
"""Escape, C1 CSI, right-to-left override, OSC 52, line breaks, DEL and a tag character."""
LONG = f"mcts:x={'y' * 4200}"
PLAN = ("tournament", "random", "minimax:depth=1", *FAST)


def one_line(arena: CommandLine, *call: object) -> str:
    result = arena(*call, status=2)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert not arena.db.exists(), "nothing is stored"
    return line


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (("tournament", LONG, "random"), "has 4,207 characters; a spec has at most 4,096"),
        (("match", "random", LONG), "a spec has at most 4,096"),
        (("bots", "check", LONG), "a spec has at most 4,096"),
        ((*PLAN, "--game", LONG), "a spec has at most 4,096"),
        ((*PLAN, "--event", "x" * 4097), "--event has 4,097 characters"),
        ((*PLAN, "--site", "x" * 4097), "--site has 4,097 characters"),
        ((*PLAN, "--openings", f"file:{'x' * 4097}"), "--openings has 4,102 characters"),
        ((*PLAN, "--name", "x" * 65), "is not valid"),
        ((*PLAN, "--event", "a\udc80"), "--event is not valid UTF-8"),
        (("tournament", "mcts:x=a\udc80", "random"), "the spec of mcts is not valid UTF-8"),
    ],
    ids=[
        "tournament",
        "match",
        "check",
        "game",
        "event",
        "site",
        "openings",
        "name",
        "no text",
        "no text in spec",
    ],
)
def test_texts_that_cannot_be_stored(arena: CommandLine, call: tuple[str, ...], text: str) -> None:
    result = arena(*call, status=2)
    (line,) = result.stderr.splitlines()
    assert text in line
    assert len(line) < 4400


@pytest.mark.parametrize("place", ["/dev/zero", "pipe", "folder", "missing"])
@pytest.mark.parametrize(
    "call",
    [
        ("tournament", "random", "minimax", "--openings", "file:{}"),
        ("tournament", "random", "minimax", "--config", "{}"),
        ("matches", "--db", "{}"),
        ("db", "restore", "{}"),
    ],
    ids=["openings", "configuration", "store", "restore"],
)
def test_files_that_are_no_files(arena: CommandLine, call: tuple[str, ...], place: str) -> None:
    os.mkfifo(arena.folder / "pipe")
    (arena.folder / "folder").mkdir()
    path = place if place.startswith("/") else str(arena.folder / place)
    words = [word.format(path) for word in call]
    assert path in one_line(arena, *words)


@pytest.mark.parametrize("place", ["/dev/zero", "./pipe"])
@pytest.mark.parametrize("spec", ["kaggle:file={}", "keras:weights={}", "mcts:file={}"])
@pytest.mark.parametrize("call", [("tournament", "random"), ("bots", "check")])
def test_no_bot_is_started_for_a_device(
    arena: CommandLine, call: tuple[str, ...], spec: str, place: str
) -> None:
    os.mkfifo(arena.folder / "pipe")
    named = spec.format(place)
    assert f"{named.replace(':', ': ')} is a " in one_line(arena, *call, named)


def test_openings_that_are_too_large(arena: CommandLine) -> None:
    with (arena.folder / "openings").open("wb") as sparse:
        sparse.truncate(1 << 40)
    assert "67,108,864 bytes allowed" in one_line(arena, *PLAN, "--openings", "file:openings")


def test_a_long_spec_plays_under_a_cut_label(arena: CommandLine) -> None:
    folder = arena.folder / "deep" / ("d" * 200) / ("e" * 200)
    folder.mkdir(parents=True)
    agents = [folder.parent / f"{name * 120}.py" for name in "ab"]
    for agent in agents:
        agent.write_text(f"# {agent.name}\ndef act(observation, configuration):\n    return 3\n")
    plan = ["tournament", *(f"kaggle:file={agent},overage={'0' * 160}1.5" for agent in agents)]
    lines = arena.lines(
        *plan, "--game", "connect-four", "--dry-run", "--isolation", "none", "--require-tier", "T0"
    )
    assert any("…+" in line for line in lines)


def evil_store(arena: CommandLine) -> None:
    """Append the text to every text column without a closed list of values."""
    free = {
        "bots": ("spec", "distribution", "version"),
        "pools": ("label", "name"),
        "tournaments": ("event", "site", "name"),
        "entrants": ("label", "time_limit"),
        "matches": ("reason",),
    }
    with closing(find_driver().module.connect(arena.db)) as raw:
        for table, columns in free.items():
            for column in columns:
                raw.execute(f"UPDATE {table} SET {column} = {column} || ?", (EVIL,))  # noqa: S608 - names above
        raw.execute("UPDATE tournaments SET config = replace(config, 'spring', ?)", ("spring\x9b\u202e",))
        raw.commit()


def steering(text: str) -> set[str]:
    return {c for c in text if c != "\n" and unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}


COMMANDS = (
    *(("matches",), ("leaderboard",), ("crosstable",), ("show", 1), ("show", "last"), ("replay", 1)),
    *(("show", 1, "--config"), ("show", 999), ("show", EVIL), ("stop",), ("resume",), ("verify", 1)),
    *(("leaderboard", "--bot", EVIL), ("matches", "--game", EVIL), ("bots", "list"), ("bots", "info", EVIL)),
    *(("db", "check"), ("db", "path"), ("export", "out.pgn", "--format", "pgn", "--game", "tic-tac-toe")),
)


@pytest.mark.parametrize("form", [None, "json", "ndjson", "csv"])
def test_no_command_steers_the_terminal(played: CommandLine, form: str | None) -> None:
    evil_store(played)
    for command in COMMANDS:
        has_form = command[0] in {"games", "leaderboard", "crosstable", "show"} and "--config" not in command
        words = [*command, *(("--format", form) if form and has_form else ())]
        result = any_status(played, *words)
        assert steering(result) == set(), words


def any_status(arena: CommandLine, *words: object) -> str:
    for status in (0, 1, 2, 4, 6):
        try:
            result = arena(*words, status=status)
        except AssertionError:
            continue
        return result.stdout + result.stderr
    raise AssertionError(words)


@pytest.mark.parametrize("form", ["pgn", "csv", "jsonl"])
def test_no_exported_text_steers_the_terminal(played: CommandLine, form: str) -> None:
    evil_store(played)
    out = played.folder / "out"
    played("export", out, "--format", form, "--game", "tic-tac-toe", "--unrated")
    files = [path for path in ([out] if out.is_file() else out.rglob("*")) if path.is_file()]
    assert files
    for path in files:
        assert steering(text_of(path)) <= {"\r"}, path


def text_of(path: Path) -> str:
    return path.read_bytes().decode().replace("\r\n", "\n")


def test_names_of_a_new_tournament(arena: CommandLine) -> None:
    arena(*PLAN, "--rounds", 1, "--event", EVIL, "--site", EVIL, "--name", "cup", "--quiet")
    for command in (("show", "cup"), ("show", "cup", "--config"), ("show", 1)):
        assert steering(arena(*command).stdout) == set()
    (shown,) = arena.objects("show", "cup")
    assert EVIL in shown.values(), "JSON keeps the text"
