"""Runs the benchmarks, prints one JSON line each, and with `--peers` writes docs/benchmarks.md.

python benchmarks/run.py
python benchmarks/run.py --peers --peer-python /path/to/a/python/with/pettingzoo
python benchmarks/run.py --peers --check
"""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

from report import machine, page
from report.commands import CLONED, PEERS
from report.measured import fallen, measure
from report.running import BenchmarkError, find_clone, find_peers, run_trials

DOCS = Path(__file__).parents[1] / "docs"


def main() -> int:
    """Return 1 if a benchmark fails; a ratio that fell is a warning."""
    chosen = _parse()
    try:
        peers = find_peers([sys.executable, *chosen.peer_python]) if chosen.peers else {}
        if chosen.peers and chosen.alpha_zero_general:
            peers[CLONED] = find_clone(chosen.alpha_zero_general)
        _tell_missing(set(peers), asked=chosen.peers)
        pythons = {module: peer.python for module, peer in peers.items()}
        before = machine.load()
        trials = run_trials(chosen.trials, pythons, quick=chosen.quick)
    except BenchmarkError as error:
        print(f"failed: {error}", file=sys.stderr)
        return 1
    measured = measure(trials)
    print(page.table(measured), file=sys.stderr)
    for said in fallen(measured, page.read_record(chosen.folder or DOCS)):
        print(f"warning: {said}", file=sys.stderr)
    folder = chosen.folder or (DOCS if chosen.peers and not chosen.quick else None)
    if folder and not chosen.check:
        about = page.Circumstances(
            date=datetime.now(UTC).date().isoformat(),
            trials=chosen.trials,
            loads=(before, machine.load()),
            machine=machine.describe(),
            versions=machine.versions(),
            peers=peers,
            quick=chosen.quick,
        )
        page.write(folder, measured, about)
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--peers", action="store_true", help="also measure installed peers, alternating with us"
    )
    parser.add_argument(
        "--peer-python",
        action="append",
        default=[],
        metavar="PYTHON",
        help="another interpreter that has some of them",
    )
    parser.add_argument(
        "--alpha-zero-general",
        type=Path,
        metavar="CLONE",
        help="a clone of that peer, which is in no package index",
    )
    parser.add_argument("--trials", type=int, default=3, help="runs of each script, alternating")
    parser.add_argument(
        "--quick", action="store_true", help="only a few seconds per script, to see that everything works"
    )
    parser.add_argument(
        "--check", action="store_true", help="compare with the recorded ratios, write nothing"
    )
    parser.add_argument(
        "--folder", type=Path, help="folder of the page and its record; docs/ for a run with peers"
    )
    return parser.parse_args()


def _tell_missing(found: set[str], *, asked: bool) -> None:
    missing = [name for module, (name, _) in PEERS.items() if module not in found]
    if not asked:
        print("only our side is measured; --peers adds the peers that are installed", file=sys.stderr)
    elif missing:
        print(
            f"missing peers: {', '.join(missing)}; name a Python that has them with --peer-python,"
            " a clone with its own option",
            file=sys.stderr,
        )


if __name__ == "__main__":
    sys.exit(main())
