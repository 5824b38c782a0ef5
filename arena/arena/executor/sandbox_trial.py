"""Tests bots and runtimes of this machine in the sandbox, as they are confined in a match."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from arena.content.collect import Collection
from arena.content.programs import place_words
from arena.content.store import state_of
from arena.entrants import Competitor, resolve
from arena.errors import PluginError
from arena.executor.preflight import Candidate, describe_fault, is_refused_option, preflight
from arena.executor.runtime_versions import describe_runtime
from arena.executor.sandboxed import Done, last_line, python_command, run_sandboxed, strongest_usual_tier
from arena.executor.seat_checks import check_program
from arena.executor.worker_seats import content_root, start_of
from arena.executor.workspace import workspace
from arena.pairing.openings import OpeningPlan, make_openings
from arena.referee.timecontrol import TimeControl
from arena.sandbox.resources import Resources
from arena_db.records import BotRecord
from arena_plugins import Termination
from arena_plugins.command import Start
from arena_plugins.conformance import Check
from arena_plugins.entries import GAMES, find
from arena_plugins.manager import load_game
from arena_plugins.program import CMD, EXEC
from arena_plugins.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.referee.seats import Forfeit
    from arena.sandbox.tier import Tier

_KIT_S = 600.0
"""Seconds for all checks of the kit together; a bot that hangs in one of them is killed then."""
_INIT_S = 60.0
"""Seconds a bot may take to start, as in a tournament without `--init-time`."""
_KIT = "import sys; from arena_plugins.kit import main_by_entry; main_by_entry(sys.argv[1:])"
_NOT_STARTED = frozenset(
    {Termination.INIT_CRASH, Termination.INIT_TIMEOUT, Termination.NO_COMMON_PROTOCOL, Termination.OOM}
)
_STARTS = "It starts and answers as in a match"


def run_kit(
    bot: str, game: str, seconds: float, *, on_failure: Callable[[str], None] | None = None
) -> list[Check]:
    """Run a preflight as before a match, then the conformance kit on the bot, in the same sandbox.

    The preflight asks about the end of an opening, since matches usually start with one. A fault that a match
    would raise becomes the failed first check, in the words of the match. A process that dies is a failed
    check, too.

    Args:
        bot: spec of the bot.
        game: spec of the game.
        seconds: thinking time for one answer.
        on_failure: called with the bot's stderr if a step failed; it may contain control characters.

    Raises:
        PluginError: there is no such bot, or one of its files cannot be read.
        OptionError: its command cannot be read.
        ConfigError: this system has no sandbox.
    """
    competitor = resolve([bot], margin_ms=0)[0]
    tier = strongest_usual_tier()
    limit = TimeControl.parse(None, None, None)
    rules = load_game(game)
    opening = make_openings(rules, OpeningPlan(), seed=0, wanted=1).openings[0]
    fault = preflight(Candidate(competitor, game, limit, tier, _INIT_S, opening))
    if fault is not None and on_failure is not None and not is_refused_option(fault):
        on_failure(str(fault.detail.get("stderr") or ""))
    if fault is not None and fault.termination in _NOT_STARTED:
        return [_refused(fault)]
    if CMD in competitor.options:
        checks = check_program(competitor, rules, tier, seconds=seconds, init_s=_INIT_S)
    else:
        done = _run_kit(competitor, game, seconds)
        checks = [_broken(0, f"no end within {_KIT_S:g} s")] if done.code is None else _checks(done)
        if on_failure is not None and not all(check.passed for check in checks):
            on_failure(done.stderr.decode("utf-8", "replace"))
    # The kit's first check is whether the bot starts; the fault of the preflight replaces it.
    return checks if fault is None else [_refused(fault), *checks[1:]]


def _refused(fault: Forfeit) -> Check:
    return Check(1, _STARTS, passed=False, detail=describe_fault(fault))


def _run_kit(competitor: Competitor, game: str, seconds: float) -> Done:
    """Run the kit in the sandbox."""
    setup = start_of(competitor, content_root(competitor, strongest_usual_tier()))
    arguments = [_start_of(competitor, setup.options, game), game, str(seconds)]
    with workspace():
        return run_sandboxed(
            python_command(_KIT, arguments, setup.path),
            setup.readable,
            _KIT_S,
            resources=Resources(procfs=competitor.procfs, allow=competitor.allow),
        )


def _start_of(competitor: Competitor, options: dict[str, str], game: str) -> str:
    name = Spec.parse(game).name
    start = Start(
        entry=competitor.entry,
        name=competitor.record.name,
        version=competitor.record.version,
        options=options,
        games={name: find(GAMES, name).value},
        path=[],
    )
    return msgspec.json.encode(start).decode()


def _checks(done: Done) -> list[Check]:
    """Parse the kit's output; it is untrusted, since the bot runs in the same process."""
    checks: list[Check] = []
    try:
        checks += [msgspec.json.decode(line, type=Check) for line in done.stdout.splitlines()]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        checks.append(_broken(len(checks), f"the output of the kit cannot be read: {error}"))
    if done.code:
        why = f"its process ended with {done.code}: {last_line(done.stderr)}"
        checks.append(_broken(len(checks), why))
    return checks


def _broken(number: int, detail: str) -> Check:
    return Check(number + 1, "The kit runs to its end", passed=False, detail=detail)


_SECONDS = 5.0
"""Seconds that a bot of `_BOTS` has to start, and for each answer: an interpreter that needs longer is
broken."""
_SHELL = r"""
value() { value=${line#*"\"$1\":"}; value=${value#[\"[]}; value=${value%%[]\",\}]*}; }
say() { printf '{"type":"%s",%s}\n' "$1" "$2"; }
while IFS= read -r line; do case $line in
    *'"type":"hello"'*) value nonce; say hello '"protocol":1,"name":"x","version":"1","games":[],"nonce":"'"$value\"" ;;
    *'"type":"new_match"'*) value match; say ready "\"match\":\"$value\",\"deterministic\":true" ;;
    *'"type":"go"'*) value id; id=$value; value legal; say action "\"id\":\"$id\",\"action\":$value" ;;
    *'"type":"quit"'*) exit ;;
esac done
"""  # noqa: E501 - a line for each message
_PYTHON = """
import json, sys
def say(**message): print(json.dumps(message), flush=True)
for line in sys.stdin:
    m = json.loads(line)
    kind = m["type"]
    if kind == "hello": say(type=kind, protocol=1, name="x", version="1", games=[], nonce=m["nonce"])
    elif kind == "new_match": say(type="ready", match=m["match"], deterministic=True)
    elif kind == "go": say(type="action", id=m["id"], action=m["legal"][0])
    elif kind == "quit": break
"""
_NODE = r"""
const say = m => process.stdout.write(JSON.stringify(m) + "\n");
require("readline").createInterface({input: process.stdin}).on("line", line => {
  const m = JSON.parse(line);
  if (m.type === "hello")
    say({type: m.type, protocol: 1, name: "x", version: "1", games: [], nonce: m.nonce});
  else if (m.type === "new_match") say({type: "ready", match: m.match, deterministic: true});
  else if (m.type === "go") say({type: "action", id: m.id, action: m.legal[0]});
  else if (m.type === "quit") process.exit(0);
});
"""
_BOTS = {"python3": _PYTHON, "node": _NODE, "java": "", "sh": _SHELL}
"""Source code of a test bot by runtime name. Java is only started, since its bot would have to be compiled.
"""


class TriedRuntime(NamedTuple):
    """The result for one runtime."""

    runtime: str
    """Its name and version."""
    program: str
    """Its absolute path."""
    verdict: str
    """`plays`, `starts` (only its version was asked for) or `fails`."""
    cause: str
    """Why it fails; empty if it does not."""


def try_runtimes() -> list[TriedRuntime]:
    """Test each usual runtime that `PATH` finds with one move, in the tier that bots get by default.

    Raises:
        ConfigError: this system has no tier for processes.
    """
    tier = strongest_usual_tier()
    found: list[TriedRuntime] = []
    for name, source in _BOTS.items():
        try:
            program = place_words(Collection(EXEC), [name], None).runtime
        except PluginError:
            continue
        found.append(_play(program, source, tier) if source else _start(program))
    return found


def _start(program: str) -> TriedRuntime:
    runtime = describe_runtime(program)
    starts = " " in runtime
    cause = "" if starts else "it did not report its version"
    return TriedRuntime(runtime, program, "starts" if starts else "fails", cause)


def _play(program: str, source: str, tier: Tier) -> TriedRuntime:
    with tempfile.TemporaryDirectory(prefix="arena-runtime-") as folder:
        # When root runs the arena, bots run as other users, who must be able to enter the folder.
        Path(folder).chmod(0o755)
        Path(folder, "bot").write_text(source, encoding="utf-8")
        Path(folder, "bot").chmod(0o644)
        bot = Competitor(
            label=program,
            record=BotRecord(identity="", name=EXEC, spec=EXEC, distribution="", version="", files="{}"),
            spec=str(Spec(EXEC, {CMD: shlex.join([program, f"{folder}/bot"])})),
            entry="",
            options={CMD: "program bot"},
            copies={f"{CMD} 1": "bot"},
            runtime=program,
            place=folder,
            state=state_of(folder),
            content="0" * 64,
            limit=None,
        )
        limit = TimeControl(mode="move", move_ms=round(_SECONDS * 1000))
        fault = preflight(Candidate(bot, "tic-tac-toe", limit, tier, _SECONDS))
    cause = "" if fault is None else describe_fault(fault)
    return TriedRuntime(describe_runtime(program), program, "fails" if cause else "plays", cause)
