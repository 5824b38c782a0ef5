"""Options, sub-commands and environment variables that pages name exist."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from arena.cli.main import main
from command_line import commands_of
from source_tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
OPTION = re.compile(r"(?<![\w/.-])--[a-z][a-z0-9-]*")
VARIABLE = re.compile(r"\bARENA_[A-Z_]+\b")
CALL = re.compile(r"(?:`|^\$ )arena ([^`\n]*)", re.MULTILINE)
FOREIGN = {
    "build": {"--wheel", "--no-isolation", "--outdir"},
    "cmake": {"--build"},
    "docker": {"--security-opt"},
    "pip": {"--no-deps"},
    "pytest": {"--update-golden"},
    "systemd-run": {"--user", "--scope"},
}
"""Options of other programs, by a word that the paragraph must contain."""
REMOVED = re.compile(r"\b(removed|renamed|no longer)\b")
"""A paragraph of the changelog must contain one of these words to name a removed option."""


def _commands(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, inner in commands_of(command).items():
            yield from _commands(inner, (*path, name))


COMMANDS = dict(_commands(main))


def _options_of(command: click.Command) -> set[str]:
    named: set[str] = {
        option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)
    }
    return named | {"--help"}


OURS = {option for command in COMMANDS.values() for option in _options_of(command)}


def _script_options() -> set[str]:
    """Return the options of developers' scripts, which use argparse."""
    scripts = [*(ROOT / "benchmarks").rglob("*.py"), *(ROOT / "tests" / "support").glob("*.py")]
    texts = [path.read_text(encoding="utf-8") for path in scripts]
    return {option for text in texts for option in re.findall(r'add_argument\(\s*"(--[a-z-]+)"', text)}


def _paragraphs(page: Path) -> list[str]:
    return re.split(r"\n\s*\n", page.read_text(encoding="utf-8"))


def _is_known(option: str, paragraph: str, page: Path) -> bool:
    if option in OURS or (page.name == "CHANGELOG.md" and REMOVED.search(paragraph)):
        return True
    if any(option in options and tool in paragraph.lower() for tool, options in FOREIGN.items()):
        return True
    return option in _script_options() and bool(
        re.search(r"benchmarks/|make |tests/support", page.read_text("utf-8"))
    )


def test_options_exist() -> None:
    wrong = [
        f"{page.relative_to(ROOT)}: {option}"
        for page in PAGES
        for paragraph in _paragraphs(page)
        for option in OPTION.findall(paragraph)
        if not _is_known(option, paragraph, page)
    ]
    assert wrong == []


def _call(words: str) -> tuple[click.Command, list[str]] | None:
    """Return the command that the words after `arena` name, with its arguments; None if there is none."""
    path: tuple[str, ...] = ()
    rest = words.split()
    while rest and isinstance(COMMANDS[path], click.Group) and re.fullmatch(r"[a-z][a-z-]*", rest[0]):
        path, rest = (*path, rest[0]), rest[1:]
        if path not in COMMANDS:
            return None
    return COMMANDS[path], rest


def test_calls_name_commands_and_their_options() -> None:
    wrong: list[str] = []
    for page in PAGES:
        for words in CALL.findall(page.read_text(encoding="utf-8").replace("\\\n", " ")):
            # Arguments after a pipe or of another command on the line do not belong to `arena`.
            called = _call(re.split(r"[|;&>]", words)[0])
            options: set[str] = set() if called is None else set(OPTION.findall(" ".join(called[1])))
            if called is None or not options <= _options_of(called[0]):
                wrong.append(f"{page.relative_to(ROOT)}: arena {words}")
    assert wrong == []


def test_environment_variables_exist() -> None:
    rooms = [ROOT / name for name in ("arena", "plugins", "bots", "db")]
    read = {
        name
        for room in rooms
        for path in room.rglob("*.py")
        for name in VARIABLE.findall(path.read_text(encoding="utf-8"))
    }
    named = {name for page in PAGES for name in VARIABLE.findall(page.read_text(encoding="utf-8"))}
    assert named - read == set()


def test_what_does_not_exist_is_found() -> None:
    page = ROOT / "README.md"
    assert _is_known("--rounds", "`--rounds` of `arena match`", page)
    assert not _is_known("--no-such", "`--no-such`", page)
    assert not _is_known("--user", "`--user`", page)
    assert _is_known("--user", "`systemd-run --user`", page)
    assert not _is_known("--old", "- `--old` is new", ROOT / "CHANGELOG.md")
    assert _is_known("--old", "- `--old` was removed", ROOT / "CHANGELOG.md")
    assert _call("bots chek random") is None
    assert _call("bots check random --nodes") == (COMMANDS["bots", "check"], ["random", "--nodes"])
