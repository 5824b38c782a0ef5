"""Runs every benchmark beside this file and prints what it prints: one JSON line each."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

DEADLINE = 900
"""Seconds for one benchmark."""


def main() -> int:
    """Run the benchmarks in the order of their names; give 1 if one fails or prints no JSON line."""
    own = Path(__file__).resolve()
    failed: list[str] = []
    for script in sorted(path for path in own.parent.glob("*.py") if path != own):
        done = subprocess.run(  # noqa: S603 - scripts of this folder
            [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, timeout=DEADLINE, check=False
        )
        lines = done.stdout.splitlines()
        if done.returncode or not lines or not _is_json(lines[-1]):
            failed.append(script.name)
        else:
            print(lines[-1], flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
