"""A tier keeps its promises whether bots run as root, as separate users or as the arena's ordinary user."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from arena.sandbox.attacks.promises import ATTACKS, KEPT
from arena.sandbox.launch_recipe import is_open_to_all
from arena.sandbox.tier import Tier, tiers_to_try, weaknesses
from interpreters import PACKAGES, copy_interpreter

NOBODY = 65534
IS_ROOT = os.geteuid() == 0
WAYS = ("root stays", "root gives up its user", "nobody") if IS_ROOT else ("who runs the tests",)
TIERS = [tier for tier in tiers_to_try() if tier > Tier.T1] or [Tier.T1]
OPEN = all(map(is_open_to_all, PACKAGES))
"""Whether every user can read what the arena needs; otherwise its bots cannot change their user."""
SCRIPT = """
import json, os, sys
sys.path += json.loads(sys.argv[1])
from arena.sandbox.canaries.tier_trial import ALL, try_attacks
from arena.sandbox.process import spawn
from arena.sandbox.process_settings import ProcessSettings
from arena.sandbox.resources import Resources
from arena.sandbox.tier import Tier
THREADS = '''
import threading, time
number = 1
try:
    while number < 40:
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
        number += 1
except RuntimeError:
    pass
print(number, flush=True)
time.sleep(600)
'''
tier = Tier(sys.argv[2])
trial = try_attacks(tier, ALL)
bot = spawn(ProcessSettings([sys.executable, "-I", "-S", "-c", THREADS], tier, Resources(tasks=20)))
os.set_blocking(bot.stdout, True)
told = {
    "worked": sorted(trial.worked), "errors": trial.errors, "arena": os.getuid(), "user": trial.user,
    "threads": int(os.read(bot.stdout, 100)), "counted": bot.usage().tasks,
}
bot.kill()
bot.close()
print(json.dumps(told))
"""


DOCTOR = """
import json, sys
sys.path += json.loads(sys.argv[1])
sys.argv[:] = ["arena", "doctor", "--format", "json"]
from arena.__main__ import main
main()
"""


def run_as(way: str, folder: Path, script: str, tier: Tier = TIERS[0]) -> dict[str, Any]:
    """Run a script with a suitable interpreter as a suitable user; return its output."""
    python = copy_interpreter(folder / "python", 0o700 if way == "root stays" else 0o755)
    is_nobody = way == "nobody"
    done = subprocess.run(  # noqa: S603 - our own script
        [python, "-I", "-S", "-B", "-c", script, json.dumps(PACKAGES), tier],
        cwd="/",
        env={"PATH": os.defpath, "LANG": "C.UTF-8"},
        capture_output=True,
        timeout=120,
        check=False,
        user=NOBODY if is_nobody else None,
        group=NOBODY if is_nobody else None,
        extra_groups=[] if is_nobody else None,
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("way", WAYS)
def test_attacks_are_blocked(way: str, tier: Tier) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        if way == "nobody" and not OPEN:
            with pytest.raises(AssertionError, match=r"PermissionError|ModuleNotFoundError"):
                run_as(way, folder, SCRIPT, tier)
            return
        told = run_as(way, folder, SCRIPT, tier)

    promised = {attack.number for attack in ATTACKS if attack.promise(tier) in KEPT}
    assert promised.isdisjoint(told["worked"]), told["errors"]
    assert 0 not in told["worked"]
    if tier is Tier.T2:
        # Attacks that the tier does not block work, whatever the user.
        assert set(told["worked"]) == {27, 33, 38, 39}
    assert told["arena"] == (NOBODY if way == "nobody" else os.getuid())
    becomes_another = way == "root gives up its user" and OPEN
    if tier is Tier.T3:
        # The container's content is bound into it, so its user need not be able to reach it outside.
        becomes_another = way != "nobody" and IS_ROOT
    assert (told["user"] is not None) == becomes_another
    # The kernel enforces the limit for a separate user or user namespace; otherwise the arena counts. The
    # first process of a container counts towards its user, too.
    kept = 19 if tier is Tier.T3 else 20
    assert (told["threads"], told["counted"]) == (
        (kept, kept) if becomes_another or tier is Tier.T3 else (40, 40)
    )


def test_the_doctor_works_for_those_who_have_no_home() -> None:
    way = "nobody" if IS_ROOT and OPEN else WAYS[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        told = run_as(way, folder, DOCTOR)
    assert told["auto"] == TIERS[0]
    assert ("who is not root" in told["user"]) == (way != WAYS[0] or not IS_ROOT)
    assert told["weaknesses"] == weaknesses()
