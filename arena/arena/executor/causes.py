"""Explains from a program's stderr why it did not start, and suggests a remedy."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from arena.content.programs import FOLDER
from arena.executor.runtime_versions import describe_runtime, runtime_name
from arena.installed import find_program, is_interpreter, is_script, script_words
from arena.sandbox.launch.container_paths import CONTENT, SCRATCH
from arena.sandbox.tier import Tier
from arena_plugins import Spec, Termination
from arena_plugins.program import CMD, split_command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena.entrants import Competitor
    from arena.referee.seats import Forfeit

_PAGE = "docs/how-to/enter-foreign-bots.md"
_LATE = frozenset({Termination.INIT_TIMEOUT, Termination.TIME_MOVE, Termination.TIME_GAME})
_DEATHS = frozenset({Termination.INIT_CRASH, Termination.CRASH})
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish"})
_NO_PROCESS = re.compile(r"\bfork\b|: (?:command )?not found$|/bin/[^/]+: Permission denied$", re.MULTILINE)
"""Messages of shells that cannot start a program."""
_MISSING = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"while loading shared libraries: (\S+?): cannot open",
        r"^ModuleNotFoundError: No module named '([^']+)'",
        r"Cannot find (?:module|package) '([^']+)'",
        r"ENOENT: no such file or directory, \w+ '([^']+)'",
        r"Unable to access jarfile (.+)$",
        r"(?:ClassNotFoundException|NoClassDefFoundError): ([\w/.$]+)",
        r"Could not find or load main class (\S+)",
        r"\bNo such file or directory: '([^']+)'",
        r"can't open file '([^']+)'",
        r"cannot open ([^\s:]+): No such file",
        r"(?:^|[:\s])([\w./@+-]+\.[\w@+-]+): No such file or directory$",
    )
)
"""How loaders and interpreters report a file that they cannot find; the first pattern that matches counts."""
_WRITTEN_WRONG = re.compile(
    r"^(?:Syntax|Indentation|Tab|Assertion|Attribute|Index|Name|Range|Recursion|Reference|Type|UnboundLocal|"
    r"ZeroDivision)Error\b",
    re.MULTILINE,
)
"""Errors in Python or JavaScript that no missing file explains; a KeyError is left out, since it may be a
missing environment variable."""
_TOLD = re.compile(r"it reported \w+: ")
"""Start of a cause that an adapter or the program itself reported in its own words."""
_CLASS = re.compile(r"ClassNotFound|NoClassDefFound|main class")
"""How Java reports a missing class: without its file, so the file cannot be looked up in the command."""
_ENDS = ("", ".py", ".js", ".mjs", ".cjs", ".class", ".jar", ".so")


def advice(fault: Forfeit, competitor: Competitor, tier: Tier) -> str:
    """Return advice for a program that failed to start or to answer; empty if the cause is unknown."""
    if CMD not in competitor.options:
        return ""
    said = str(fault.detail.get("stderr") or "")
    if fault.termination in _LATE:
        # The adapter may already have reported the missing flush in terms of its protocol.
        return (
            ""
            if "flush" in said
            else (
                "a program that answers must flush its output after every line, as by print(…, flush=True), "
                "fflush(stdout) or python3 -u"
            )
        )
    # Below T2 a program may read all files and start other programs, so the sandbox is not the cause.
    if fault.termination not in _DEATHS or tier < Tier.T2:
        return ""
    # The blocked start of a process comes first: its message may look like that of a missing file.
    known = _about_script(said, competitor, tier) or _about_interpreter(competitor)
    if known or (_TOLD.match(str(fault.detail.get("cause") or "")) and not missing_file(said)):
        return known
    return _about_file(said, competitor, tier)


def missing_file(said: str) -> str:
    """Return the file, module or class that a program reports as missing; empty if it names none."""
    found = (pattern.findall(said) for pattern in _MISSING)
    return next((names[-1] for names in found if names), "")


def _about_script(said: str, competitor: Competitor, tier: Tier) -> str:
    """Return the explanation for a script that tried to start a process; empty if that is not the cause."""
    runtime = competitor.runtime
    command = split_command(Spec.parse(competitor.spec).options[CMD])
    if runtime and is_script(runtime):
        name = Path(runtime).name
        better = find_program(name)
        known = better is not None and not is_script(better)
        command[:1] = [str(better) if known else f"/path/to/{name}"]
        where = "" if known else ", whose folder must be on PATH"
        way_out = f'name the interpreter{where}, as in {CMD}="{shlex.join(command)}"'
        return f"{name} is a script that starts another program, which {tier} forbids; {way_out}"
    words = script_words(command[0])
    by_shell = runtime_name(runtime) if runtime else runtime_name(words[-1]) if words else ""
    if by_shell not in _SHELLS or not _NO_PROCESS.search(said):
        return ""
    name = Path(command[1] if runtime and len(command) > 1 else command[0]).name
    return (
        f"{name} is a script that starts another program, which {tier} forbids; name the interpreter or "
        f'program that it starts, as in folder=DIR,{CMD}="python3 bot.py"'
    )


def _about_interpreter(competitor: Competitor) -> str:
    """Return the explanation for an interpreter that was copied without its library; empty if it was not."""
    program = Path(split_command(Spec.parse(competitor.spec).options[CMD])[0])
    if competitor.runtime or not is_interpreter(program.name) or is_script(program):
        return ""
    return (
        f"{program} is not on PATH, so it was copied as a file of the bot; add {program.parent} to "
        "PATH before you start the arena"
    )


def _about_file(said: str, competitor: Competitor, tier: Tier) -> str:
    """Return which file is missing and the spec that includes it, or else what the program may read."""
    name = missing_file(said)
    if not name:
        return _view(competitor, tier) if competitor.runtime and not _WRITTEN_WRONG.search(said) else ""
    options = dict(Spec.parse(competitor.spec).options)
    words = split_command(options[CMD])
    if Path(name).name in words and not _CLASS.search(said):
        place = Path(options.get(FOLDER, Path.cwd())) / Path(name).name
        return f"there is no file {place}, which {CMD} names; {_view(competitor, tier)}"
    linked = "; link it with -Wl,-rpath,'$ORIGIN' or statically" if ".so" in name else ""
    folder = next(_folders_with(name, options), None)
    if folder is None:
        return f"it cannot find {name}{linked}; {_view(competitor, tier)}"
    if FOLDER in options and linked:
        return f"it cannot find {name}{linked}"
    if FOLDER in options:
        return (
            f"it cannot find {name}: its working directory is its scratch folder, so it must open files in "
            f"the program's folder by full path, or get their paths in {CMD}"
        )
    relative = [_inside(word, folder) for word in words]
    given = Spec(competitor.record.name, {**options, CMD: shlex.join(relative), FOLDER: str(folder)})
    return (
        f"it cannot find {name}, which is beside it but was not copied: enter the bot as "
        f"{shlex.quote(str(given))}{linked}"
    )


def _folders_with(name: str, options: dict[str, str]) -> Iterator[Path]:
    """Yield the folders of a command's files that hold a file, a module or a class of this name."""
    path = name
    for root in (CONTENT, SCRATCH):
        path = path.removeprefix(f"{root}/{FOLDER}/").removeprefix(f"{root}/{CMD}/").removeprefix(f"{root}/")
    tails = [path.removeprefix("./"), path.replace(".", "/"), f"node_modules/{path}"]
    places = [Path(options[FOLDER])] if FOLDER in options else []
    places += [Path(word).parent for word in split_command(options[CMD]) if Path(word).is_file()]
    for place in places:
        if any((place / f"{tail}{end}").exists() for tail in tails for end in _ENDS):
            yield place


def _inside(word: str, folder: Path) -> str:
    """Return a word of a command rewritten relative to `folder`, if it is a path inside it."""
    if not Path(word).is_relative_to(folder):
        return word
    return str(Path(word).relative_to(folder))


def _view(competitor: Competitor, tier: Tier) -> str:
    """Return what a program may read; a missing file is the most frequent cause of a failed start."""
    runtime = competitor.runtime
    runs = f"its runtime ({describe_runtime(runtime)})" if runtime else "the system's libraries"
    return (
        f"in tier {tier} it can read only {runs} and its own files; if it needs more, put it all in one "
        f"folder and name that with folder=DIR ({_PAGE})"
    )
