"""Tests the runtimes of this machine: a tiny bot in each language is asked for one move in the sandbox."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arena.content.collect import Collection
from arena.content.programs import place_words
from arena.content.store import state_of
from arena.entrants import Competitor
from arena.errors import PluginError
from arena.executor.preflight import describe_fault, preflight
from arena.executor.runtime_versions import describe_runtime
from arena.executor.sandboxed import strongest_usual_tier
from arena.referee.timecontrol import TimeControl
from arena_db.records import BotRecord
from arena_plugins.manager import load_game
from arena_plugins.program import CMD, EXEC
from arena_plugins.spec import Spec

if TYPE_CHECKING:
    from arena.sandbox.tier import Tier

_SECONDS = 5.0
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
        fault = preflight(bot, load_game("tic-tac-toe"), limit, tier=tier, init_s=_SECONDS)
    cause = "" if fault is None else describe_fault(fault)
    return TriedRuntime(describe_runtime(program), program, "fails" if cause else "plays", cause)
