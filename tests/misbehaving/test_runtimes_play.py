"""Programs of several languages pass their check and play, in each tier that isolates them."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arena.entrants import resolve
from arena.executor.preflight import Candidate, describe_fault, preflight
from arena.executor.runtime_versions import describe_runtime
from arena.executor.sandbox_trial import run_kit
from arena.executor.slots import Slot
from arena.executor.worker import SlotCallbacks, make_control, play_job
from arena.installed import find_program
from arena.referee.timecontrol import TimeControl
from arena.sandbox.tier import Tier, tiers_to_try
from arena_plugins import Spec
from tournaments import Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable

TIERS = [tier for tier in tiers_to_try() if tier > Tier.T1] or [Tier.T1]
ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
SHELL = EXAMPLES / "first-legal.sh"
PYTHON = (EXAMPLES / "first-legal.py").read_text()
UNBUFFERED = PYTHON.replace(
    "print(json.dumps(message), flush=True)",
    "[os.write(1, bytes([byte])) for byte in (json.dumps(message) + '\\n').encode()]",
).replace("import sys", "import os\nimport sys")
ONE_MATCH = PYTHON.replace('case "quit"', 'case "quit" | "match_over"').replace(
    'case "new_match":',
    'case "new_match":\n            sys.argv.append("began")\n            _, began = sys.argv',
)
FORGETS_TO_FLUSH = PYTHON.replace(", flush=True", "")


def run(*words: str | Path) -> None:
    subprocess.run([*map(str, words)], check=True, capture_output=True)  # noqa: S603 - compilers


def shell(_: Path) -> list[str]:
    return ["sh", str(SHELL)]


def script(folder: Path) -> list[str]:
    return [str(write(folder / "bot.sh", SHELL.read_text()))]


def python(folder: Path) -> list[str]:
    return ["python3", str(write(folder / "bot.py", PYTHON))]


def by_env(folder: Path) -> list[str]:
    return [str(write(folder / "bot.py", f"#!/usr/bin/env python3\n{PYTHON}"))]


def shim(folder: Path) -> list[str]:
    """Return a command whose interpreter is a version manager's wrapper, if `PATH` is searched first."""
    manager = write(
        folder / "shims" / "python3", '#!/usr/bin/env bash\nexec /opt/manager exec python3 "$@"\n'
    )
    os.environ["PATH"] = f"{manager.parent}{os.pathsep}{os.environ['PATH']}"
    return python(folder)


def unbuffered(folder: Path) -> list[str]:
    return ["python3", str(write(folder / "bot.py", UNBUFFERED))]


def one_match(folder: Path) -> list[str]:
    return ["python3", str(write(folder / "bot.py", ONE_MATCH))]


def environment(folder: Path) -> list[str]:
    run(sys.executable, "-m", "venv", "--without-pip", folder / "env")
    return [str(folder / "env" / "bin" / "python"), str(write(folder / "bot.py", PYTHON))]


def node(_: Path) -> list[str]:
    return ["node", str(EXAMPLES / "first-legal.js")]


def dynamic_c(folder: Path) -> list[str]:
    run("gcc", "-o", folder / "bot", EXAMPLES / "first-legal.c")
    return [str(folder / "bot")]


def static_c(folder: Path) -> list[str]:
    run("gcc", "-static", "-o", folder / "bot", EXAMPLES / "first-legal.c")
    return [str(folder / "bot")]


def rust(folder: Path) -> list[str]:
    run("rustc", "-o", folder / "bot", EXAMPLES / "first-legal.rs")
    return [str(folder / "bot")]


def java(folder: Path) -> list[str]:
    run("javac", "-d", folder / "classes", EXAMPLES / "FirstLegal.java")
    return ["java", "-cp", str(folder / "classes"), "FirstLegal"]


def jar(folder: Path) -> list[str]:
    run("javac", "-d", folder / "classes", EXAMPLES / "FirstLegal.java")
    run("jar", "cfe", folder / "bot.jar", "FirstLegal", "-C", folder / "classes", ".")
    return ["java", "-jar", str(folder / "bot.jar")]


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


TOOLS = {
    shell: (),
    script: (),
    python: (),
    environment: (),
    node: ("node",),
    dynamic_c: ("gcc",),
    java: ("java", "javac"),
    jar: ("java", "javac", "jar"),
    static_c: ("gcc",),
    rust: ("rustc",),
    by_env: ("python3",),
    shim: ("bash", "python3"),
    unbuffered: (),
    one_match: (),
}
KINDS = [kind for kind, tools in TOOLS.items() if all(map(shutil.which, tools))]
ALIKE = (static_c, rust, by_env, shim, unbuffered, one_match)
"""Programs that read the same files as another kind, so the default tier is enough."""
OWN = (dynamic_c, static_c, rust)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_program_passes_its_check_and_plays_in_every_tier(
    kind: Callable[[Path], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.environ["PATH"])
    (tmp_path / "bot").mkdir()
    spec = str(Spec("exec", {"cmd": shlex.join(kind(tmp_path / "bot"))}))
    checks = run_kit(spec, "tic-tac-toe", 0.2)
    assert [check for check in checks if not check.passed] == []
    assert len(checks) == 12
    (bot,) = resolve([spec], margin_ms=0)
    for tier in TIERS[-1:] if kind in ALIKE else TIERS:
        settings = config(spec, "random", isolation=tier.value, require_tier=tier.value)
        sitting = Sitting(tmp_path / f"{tier}.db", settings)
        control = make_control(SlotCallbacks(Slot.here(0)))
        # The second match finds the process of the first one, or its end.
        records = [play_job(job, control) for job in sitting.jobs()[:2]]
        control.close()
        sitting.store.close()
        for record in records:
            assert (record.fault, record.rated, record.tier) == ("", True, tier.value)
            ours = record.runtime_first if record.first == bot.record.identity else record.runtime_second
            assert ours == ("" if kind in OWN else describe_runtime(_runs(kind)))


def _runs(kind: Callable[[Path], list[str]]) -> str:
    """Return the path of the interpreter on this machine that runs a kind."""
    if kind is environment:
        return sys.executable
    names = {"node": "node", "java": "java", "jar": "java", "shell": "sh", "script": "sh"}
    return str(find_program(names.get(kind.__name__, "python3")))


def test_a_program_that_forgets_to_flush_is_refused_and_told_so(tmp_path: Path) -> None:
    bot = write(tmp_path / "bot.py", FORGETS_TO_FLUSH)
    (entered,) = resolve([str(Spec("exec", {"cmd": f"python3 {bot}"}))], margin_ms=0)
    control = TimeControl.parse(None, 1, None)
    fault = preflight(Candidate(entered, "tic-tac-toe", control, TIERS[-1], 1.5))
    assert fault is not None
    assert "must flush its output after every line" in describe_fault(fault)
