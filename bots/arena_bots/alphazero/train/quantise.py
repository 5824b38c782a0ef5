"""A command that quantises a network to 8-bit integers.

    python -m arena_bots.alphazero.train.quantise FILE OUT

Play matches to find out whether the result is as strong.
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

from arena_bots.alphazero.network import MAX_BYTES
from arena_plugins.errors import PluginError
from arena_plugins.extras import require_modules
from arena_plugins.weights import load_onnx


def main() -> None:
    """Read one file and write the other."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("out", type=Path)
    chosen = parser.parse_args()
    try:
        require_modules("quantise", "bot-arena[train-torch]", "onnx")
        from arena_bots.alphazero.train.integers import quantised

        content = quantised(load_onnx(chosen.file, max_bytes=MAX_BYTES))
        chosen.out.write_bytes(content)
    except (OSError, PluginError) as error:
        parser.error(str(error))
    print(f"{chosen.out}: {len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()}")  # noqa: T201 # a command


if __name__ == "__main__":
    main()
