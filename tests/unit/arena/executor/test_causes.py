"""The message for a program that does not start: errors of loaders, and programs in the sandbox."""

from __future__ import annotations

import re
import shlex
import sys
from typing import TYPE_CHECKING

import pytest

from arena.entrants import resolve
from arena.executor.causes import advice, missing_file
from arena.executor.preflight import Candidate, describe_fault, preflight
from arena.executor.sandbox_trial import run_kit
from arena.executor.sandboxed import strongest_usual_tier
from arena.referee.seats import Forfeit
from arena.referee.timecontrol import TimeControl
from arena.sandbox.tier import Tier
from arena_plugins import Spec, Termination

if TYPE_CHECKING:
    from pathlib import Path

    from arena.referee.seats import Detail

LIMIT = TimeControl.parse(None, 5, None)
LOADER = "error while loading shared libraries: libfoo.so.1"
needs_fence = pytest.mark.skipif(strongest_usual_tier() < Tier.T2, reason="T1 hides nothing")


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def refusal(cmd: str, init_s: float = 30, **options: str) -> str:
    """Return the message of the preflight of a program that does not start."""
    spec = str(Spec("exec", {"cmd": cmd, **options}))
    (bot,) = resolve([spec], margin_ms=50)
    tier = strongest_usual_tier()
    fault = preflight(Candidate(bot, "tic-tac-toe", LIMIT, tier, init_s))
    assert fault is not None
    return describe_fault(fault)


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("ModuleNotFoundError: No module named 'helper.book'", "helper.book"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'book.txt'", "book.txt"),
        ("python3: can't open file '/scratch/bot.py': [Errno 2] No such file", "/scratch/bot.py"),
        ("Error: Cannot find module './util.js'\nRequire stack:\n- /bot/cmd/bot.js", "./util.js"),
        ("[ERR_MODULE_NOT_FOUND]: Cannot find package 'ws' imported from /bot/cmd/n3.mjs", "ws"),
        ("Error: ENOENT: no such file or directory, open 'book.txt'\n    at Object.open", "book.txt"),
        ("Error: no main class\nCaused by: java.lang.ClassNotFoundException: a.Bot", "a.Bot"),
        ("Error: Could not find or load main class b.Bot", "b.Bot"),
        ("Error: Unable to access jarfile my bot.jar", "my bot.jar"),
        (f"./bot: {LOADER}: cannot open shared object file: No such file or directory", "libfoo.so.1"),
        ("/usr/bin/sh: 0: cannot open bot.sh: No such file", "bot.sh"),
        ("starting\nbook.txt: No such file or directory\n", "book.txt"),
        ("ValueError: no number\n", ""),
        ("", ""),
    ],
)
def test_loaders_name_what_they_do_not_find(said: str, name: str) -> None:
    assert missing_file(said) == name


@needs_fence
def test_a_file_beside_the_program_comes_with_the_spec_that_takes_it_along(tmp_path: Path) -> None:
    write(tmp_path / "helper.py", "x = 1")
    bot = write(tmp_path / "bot.py", "import helper\nopen('book.txt')")
    write(tmp_path / "book.txt", "e4")
    python = shlex.quote(sys.executable)
    said = refusal(f"{python} {bot}")
    way_out = shlex.quote(f"exec:cmd={python} bot.py,folder={tmp_path}")
    assert said.endswith(
        f"it cannot find helper, which is beside it but was not copied: enter the bot as {way_out}"
    )
    said = refusal(f"{python} bot.py", folder=str(tmp_path))
    assert "it cannot find book.txt: its working directory is its scratch folder" in said
    said = refusal(f"{python} nothing.py", folder=str(tmp_path))
    assert f"there is no file {tmp_path}/nothing.py, which cmd names; in tier" in said
    java = "print('Caused by: java.lang.ClassNotFoundException: Bot', file=__import__('sys').stderr)"
    said = refusal(f"{python} {write(tmp_path / 'no.py', java)} Bot")
    assert "it cannot find Bot; in tier" in said
    said = refusal(f"{python} {write(tmp_path / 'no.py', 'import nowhere')}")
    assert "it cannot find nowhere; in tier" in said


@needs_fence
def test_a_program_that_is_written_wrong_is_not_told_of_files(tmp_path: Path) -> None:
    python = shlex.quote(sys.executable)
    wrong = write(tmp_path / "wrong.py", "import sys\n\n1 / 0\n")
    said = refusal(f"{python} {wrong}")
    assert said == "init_crash: it closed its output: ZeroDivisionError: division by zero in wrong.py:3"
    other = write(tmp_path / "other.py", "import os\n\nos.environ['NO_SUCH']\n")
    said = refusal(f"{python} {other}")
    assert said.startswith("init_crash: it closed its output: KeyError: 'NO_SUCH' in other.py:3; in tier")


@needs_fence
def test_what_an_adapter_says_itself_is_not_told_twice(tmp_path: Path) -> None:
    python = shlex.quote(sys.executable)
    engine = write(tmp_path / "engine.py", "import sys\nfor line in sys.stdin: print('OK')\n")
    (bot,) = resolve([str(Spec("gomocup", {"cmd": f"{python} {engine}"}))], margin_ms=50)
    tier = strongest_usual_tier()
    fault = preflight(Candidate(bot, "tic-tac-toe", LIMIT, tier, 30))
    assert fault is not None
    assert describe_fault(fault) == ("init_crash: Gomocup engines play five in a row only, not tic-tac-toe")
    said = "gomocup: the engine has not answered START 15 with OK; a Gomocup engine flushes its output"
    detail: Detail = {"cause": "it did not get ready in time", "stderr": said}
    assert advice(Forfeit(Termination.INIT_TIMEOUT, detail), bot, tier) == ""
    silent: Detail = {**detail, "stderr": ""}
    assert "must flush its output" in advice(Forfeit(Termination.INIT_TIMEOUT, silent), bot, tier)


@needs_fence
def test_a_script_that_starts_a_program_is_refused_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check and preflight print the same message, apart from the pipe that each of them misses first."""
    tier = strongest_usual_tier()
    shim = write(tmp_path / "shims" / "python3", '#!/bin/sh\nexec /opt/pyenv exec python3 "$@"\n')
    bot = write(tmp_path / "bot.py", "pass")
    monkeypatch.setenv("PATH", f"{shim.parent}:/usr/bin:/bin")
    sentence = f"python3 is a script that starts another program, which {tier} forbids; name the interpreter"
    said = refusal(f"{shim} {bot}")
    assert f"{sentence}, as in cmd=" in said or f"{sentence}, whose folder must be on PATH" in said
    (check,) = run_kit(str(Spec("exec", {"cmd": f"{shim} {bot}"})), "tic-tac-toe", 0.2)
    assert not check.passed
    ends = re.compile("closed its (in|out)put")
    assert ends.sub("", check.detail) == ends.sub("", said)
    runs = write(tmp_path / "run.sh", "#!/bin/sh\npython3 bot.py\n")
    for cmd in (str(runs), f"sh {runs}"):
        assert f"run.sh is a script that starts another program, which {tier} forbids; name" in refusal(cmd)


@needs_fence
def test_an_interpreter_that_path_does_not_find_is_no_file_of_the_bot(tmp_path: Path) -> None:
    own = write(tmp_path / "bin" / "python3", "")
    own.write_bytes(b"\x7fELF")
    assert f"add {tmp_path}/bin to PATH before you start the arena" in refusal(f"{own} bot.py")
