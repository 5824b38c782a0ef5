"""The program of an attacking bot: `python -I -S -B attacker.py TOKEN`.

It reads one line of JSON, `{"targets": …, "attacks": [[key, "module.function"], …], "file": path or null}`,
and prints one JSON object per attack with what it believes it obtained. It does not judge whether an attack
worked: `arena.sandbox.canaries` examines the targets. It then keeps its resources until its input ends.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_PACKAGE = "arena.sandbox.attacks"


def main() -> None:
    """Attempt every attack of the order, whatever the others do."""
    # The package is made by hand, because a bot cannot import the rest of the arena.
    package = types.ModuleType(_PACKAGE)
    package.__path__ = [str(Path(__file__).parent)]
    sys.modules[_PACKAGE] = package
    order: dict[str, Any] = json.loads(sys.stdin.readline())
    for key, path in order["attacks"]:
        got = error = None
        try:
            got = _find(path, order["file"])(order["targets"])
        except Exception as failure:  # noqa: BLE001 - whatever it raised, the attempt was made
            error = f"{type(failure).__name__}: {failure}"
        print(json.dumps({"attack": key, "got": got, "error": error}, default=repr), flush=True)  # noqa: T201 - read by the arena
    print(json.dumps({"attack": None}), flush=True)  # noqa: T201 - as above
    sys.stdin.read()


def _find(path: str, file: str | None) -> Callable[[Any], object]:
    """Return a function given as `module.function`, or by its name in a host's own file."""
    if file is not None:
        spec = importlib.util.spec_from_file_location("attacks_of_the_host", file)
        if spec is None or spec.loader is None:
            raise ImportError(f"{file} is not a Python file")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return getattr(module, path)
    name, _, function = path.partition(".")
    return getattr(importlib.import_module(f"{_PACKAGE}.{name}"), function)


if __name__ == "__main__":
    main()
