"""Programs of several languages pass their check and play, in each tier that keeps them apart."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arena.entrants import resolve
from arena.executor.runtime_versions import describe_runtime
from arena.executor.trial import run_kit
from arena.executor.worker import Control, play_job
from arena.sandbox.tier import Tier, tiers_to_try
from arena_plugins import Spec
from tournaments import Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable

TIERS = [tier for tier in tiers_to_try() if tier > Tier.T1] or [Tier.T1]
ROOT = Path(__file__).parents[2]
SHELL = ROOT / "docs" / "examples" / "first-legal.sh"
PYTHON = """
import json, sys
def say(**message): print(json.dumps(message), flush=True)
for line in sys.stdin:
    m = json.loads(line)
    kind = m["type"]
    if kind == "hello": say(type="hello", protocol=1, name="p", version="1", games=[], nonce=m["nonce"])
    elif kind == "new_match": say(type="ready", match=m["match"], deterministic=True)
    elif kind == "go": say(type="action", id=m["id"], action=m["legal"][0])
    elif kind == "ping": say(type="pong", n=m["n"])
    elif kind == "quit": break
"""
NODE = """
const say = m => process.stdout.write(JSON.stringify(m) + "\\n");
require("readline").createInterface({input: process.stdin}).on("line", line => {
  const m = JSON.parse(line);
  if (m.type === "hello") say({type: "hello", protocol: 1, name: "n", version: "1",
                                   games: [], nonce: m.nonce});
  else if (m.type === "new_match") say({type: "ready", match: m.match, deterministic: true});
  else if (m.type === "go") say({type: "action", id: m.id, action: m.legal[0]});
  else if (m.type === "ping") say({type: "pong", n: m.n});
  else if (m.type === "quit") process.exit(0);
});
"""
C = r"""
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
static char line[1 << 20], text[256];
static char *value(const char *key) {
    char pattern[64]; snprintf(pattern, sizeof pattern, "\"%s\":", key);
    char *at = strstr(line, pattern); int n = 0;
    for (at += strlen(pattern); *at == '"' || *at == '['; at++);
    while (n < 255 && !strchr("\",]}", *at)) text[n++] = *at++;
    text[n] = 0; return text;
}
int main(void) {
    while (fgets(line, sizeof line, stdin)) {
        if (strstr(line, "\"type\":\"hello\"")) printf("{\"type\":\"hello\",\"protocol\":1,\"name\":\"c\",\"version\":\"1\",\"games\":[],\"nonce\":\"%s\"}\n", value("nonce"));
        else if (strstr(line, "\"type\":\"new_match\"")) printf("{\"type\":\"ready\",\"match\":\"%s\",\"deterministic\":true}\n", value("match"));
        else if (strstr(line, "\"type\":\"go\"")) { printf("{\"type\":\"action\",\"id\":\"%s\",", value("id")); printf("\"action\":%s}\n", value("legal")); }
        else if (strstr(line, "\"type\":\"ping\"")) printf("{\"type\":\"pong\",\"n\":%s}\n", value("n"));
        else if (strstr(line, "\"type\":\"quit\"")) return 0;
        fflush(stdout);
    }
}
"""  # noqa: E501 - a line for each message
JAVA = r"""
public class Bot {
    static String line;
    static String value(String key) {
        int at = line.indexOf("\"" + key + "\":") + key.length() + 3;
        while ("\"[".indexOf(line.charAt(at)) >= 0) at++;
        int end = at;
        while ("\",]}".indexOf(line.charAt(end)) < 0) end++;
        return line.substring(at, end);
    }
    static void say(String text) { System.out.println("{" + text.replace('`', '"') + "}"); System.out.flush(); }
    public static void main(String[] words) throws Exception {
        var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        while ((line = in.readLine()) != null) {
            if (line.contains("\"type\":\"hello\"")) say("`type`:`hello`,`protocol`:1,`name`:`j`,`version`:`1`,`games`:[],`nonce`:`" + value("nonce") + "`");
            else if (line.contains("\"type\":\"new_match\"")) say("`type`:`ready`,`match`:`" + value("match") + "`,`deterministic`:true");
            else if (line.contains("\"type\":\"go\"")) say("`type`:`action`,`id`:`" + value("id") + "`,`action`:" + value("legal"));
            else if (line.contains("\"type\":\"ping\"")) say("`type`:`pong`,`n`:" + value("n"));
            else if (line.contains("\"type\":\"quit\"")) return;
        }
    }
}
"""  # noqa: E501 - a line for each message


def run(*words: str | Path) -> None:
    subprocess.run([*map(str, words)], check=True, capture_output=True)  # noqa: S603 - compilers


def shell(_: Path) -> list[str]:
    return ["sh", str(SHELL)]


def script(folder: Path) -> list[str]:
    return [str(write(folder / "bot.sh", SHELL.read_text()))]


def python(folder: Path) -> list[str]:
    return ["python3", str(write(folder / "bot.py", PYTHON))]


def environment(folder: Path) -> list[str]:
    run(sys.executable, "-m", "venv", "--without-pip", folder / "env")
    return [str(folder / "env" / "bin" / "python"), str(write(folder / "bot.py", PYTHON))]


def node(folder: Path) -> list[str]:
    return ["node", str(write(folder / "bot.js", NODE))]


def compiled(folder: Path) -> list[str]:
    run("gcc", "-o", folder / "bot", write(folder / "bot.c", C))
    return [str(folder / "bot")]


def java(folder: Path) -> list[str]:
    run("javac", "-d", folder / "classes", write(folder / "Bot.java", JAVA))
    return ["java", "-cp", str(folder / "classes"), "Bot"]


def jar(folder: Path) -> list[str]:
    run("javac", "-d", folder / "classes", write(folder / "Bot.java", JAVA))
    run("jar", "cfe", folder / "bot.jar", "Bot", "-C", folder / "classes", ".")
    return ["java", "-jar", str(folder / "bot.jar")]


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


TOOLS = {
    shell: (),
    script: (),
    python: (),
    environment: (),
    node: ("node",),
    compiled: ("gcc",),
    java: ("java", "javac"),
    jar: ("java", "javac", "jar"),
}
KINDS = [kind for kind, tools in TOOLS.items() if all(map(shutil.which, tools))]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_program_passes_its_check_and_plays_in_every_tier(
    kind: Callable[[Path], list[str]], tmp_path: Path
) -> None:
    (tmp_path / "bot").mkdir()
    spec = str(Spec("exec", {"cmd": shlex.join(kind(tmp_path / "bot"))}))
    checks = run_kit(spec, "tic-tac-toe", 0.2)
    assert [check for check in checks if not check.passed] == []
    assert len(checks) == 12
    (bot,) = resolve([spec], margin_ms=0)
    runtime = describe_runtime(bot.runtime) if bot.runtime else ""
    assert bool(runtime) == (kind not in (script, compiled))
    for tier in TIERS:
        settings = config(spec, "random", isolation=tier.value, require_tier=tier.value)
        sitting = Sitting(tmp_path / f"{tier}.db", settings)
        control = Control(lambda _: None)
        record = play_job(sitting.jobs()[0], control)
        control.close()
        sitting.store.close()
        assert (record.fault, record.rated, record.tier) == ("", True, tier.value)
        ours = record.runtime_first if record.first == bot.record.identity else record.runtime_second
        assert ours == runtime
