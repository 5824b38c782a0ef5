"""Compares the figures of every page of a store, and of its JSON, with those that the commands print."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from command_line import CommandLine
from page_numbers import PageNumbers
from page_reading import pages_of


def main() -> None:
    """Compare all pages of a store; fail at the first figure that differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path, help="file of the store; it is only read")
    store = parser.parse_args().store.resolve()
    arena = CommandLine(store.parent, store)
    num = PageNumbers(arena).check(pages_of(store))
    for kind, number in sorted(num.items()):
        print(f"{number:6} {kind}")
    print(f"{num.total():6} pages compared, no figure differs")


if __name__ == "__main__":
    main()
