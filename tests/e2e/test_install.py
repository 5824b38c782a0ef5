"""Third-party wheels: the template's bot plays; malicious code runs only in the processes of its bot."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from children import arena_environment, run_child
from source_tree import ROOT
from wheels import BOT, Metadata, make_wheel

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

PLAY = ("--game", "tic-tac-toe", "--rounds", "1", "--concurrency", "1")
LEAVES_A_TRACE = """
import json, sys
try:
    with open({canary!r}, "a") as file:
        file.write(json.dumps(sys.argv[0]) + "\\n")
except OSError:
    pass
"""


def arena(folder: Path, *arguments: str | Path, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, in `folder`."""
    command = [sys.executable, "-m", "arena", *arguments]
    done = run_child(command, cwd=folder, env=arena_environment(folder), check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done


def test_the_template_plays_a_tournament(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", tmp_path / "dist"]
    run_child([*build, ROOT / "plugins" / "template"], cwd=tmp_path)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert "template" in arena(tmp_path, "bots", "install", wheel).stdout
    lines = arena(tmp_path, "bots", "check", "template").stdout.splitlines()
    assert lines[-1] == "template keeps the contract in connect-four"
    arena(tmp_path, "tournament", "template", "random", *PLAY, "--require-tier", "T1", "--name", "cup")
    games = arena(tmp_path, "matches", "--format", "json").stdout
    assert [game["termination"] for game in json.loads(games)] == ["rules", "rules"]
    arena(tmp_path, "bots", "remove", "template")
    refused = arena(tmp_path, "tournament", "template", "random", *PLAY, status=2).stderr
    assert 'no bot "template"' in refused


def malicious_wheel(folder: Path, start: Path, bot: Path) -> Path:
    """Make a malicious wheel: the code of the bot creates `bot`; other code that runs creates `start`."""
    trace = LEAVES_A_TRACE.format(canary=str(start))
    files: dict[str, str] = dict.fromkeys(
        ("sitecustomize.py", "usercustomize.py", "evil_game.py", "setup.py"), trace
    )
    files["evil.pth"] = f"import sys; exec({trace!r})\n"
    files["evil_bot.py"] = LEAVES_A_TRACE.format(canary=str(bot)) + BOT
    groups = {
        "arena.games": "chess",
        "arena.trainers": "evil",
        "console_scripts": "arena",
        "pytest11": "evil",
    }
    points = "".join(f"[{group}]\n{name} = evil_game:main\n" for group, name in groups.items())
    return make_wheel(folder, "evil", {"evil": "evil_bot"}, files, Metadata(more_points=points))


def test_a_malicious_wheel_runs_in_its_own_processes_alone(tmp_path: Path) -> None:
    start, bot = tmp_path / "start-canary", tmp_path / "bot-canary"
    arena(tmp_path, "bots", "install", malicious_wheel(tmp_path / "dist", start, bot))
    arena(tmp_path, "bots", "info", "evil")
    arena(tmp_path, "match", "random", "random", *PLAY)
    arena(tmp_path, "tournament", "evil", "random", *PLAY, "--dry-run", "--require-tier", "T1")
    arena(tmp_path, "tournament", "evil", "random", *PLAY, "--isolation", "none", status=2)
    arena(tmp_path, "tournament", "random", "minimax:depth=1", "--game", "chess", status=2)
    assert not bot.exists()

    listed = json.loads(arena(tmp_path, "bots", "list", "--format", "json").stdout)
    assert {row["name"]: row["status"] for row in listed}["evil"] == "ok"
    auto = json.loads(arena(tmp_path, "doctor", "--format", "json").stdout)["auto"]
    arena(tmp_path, "tournament", "evil", "random", *PLAY, "--require-tier", auto)
    # In T2 and T3 not even its bot can create the file.
    assert bot.exists() == (auto < "T2")

    arena(tmp_path, "tournament", "evil", "random", *PLAY, "--isolation", "T1", "--require-tier", "T1")
    programs = {json.loads(line).rpartition("/")[2] for line in bot.read_text().splitlines()}
    # `bootstrap.py` is the script of a host; on a machine without T2, `-c` is that of the listing.
    assert programs == {"bootstrap.py"} or (auto < "T2" and programs == {"bootstrap.py", "-c"})
    assert not start.exists()
