"""Rates published results with the arena, Ordo and BayesElo, and prints the differences as Markdown.

Results are files with lines `A - B: 18 : 6`, as Gomocup publishes them (github.com/Gomocup/GomocupEloRating,
folder `records`). Ordo (github.com/michiguel/Ordo) and BayesElo are programs that the caller has built.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from arena.rating.fit import fit
from arena.rating.model import LOGITS_PER_ELO
from arena.rating.sums import MatchArrays, encounters

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.rating.ratings import Ratings

LINE = re.compile(r"(?P<one>.+?) - (?P<other>.+?): *(?P<won>\d+) : *(?P<lost>\d+)")
BANDS = (50, 150, 300, 500, 900)
"""Bands of gaps in Elo; encounters with a gap beyond the last band are left out."""
MANY = 200
"""Minimum number of matches for a bot's rating to be compared individually."""
SCORE_76 = 400 * np.log10(0.76 / 0.24)
"""Elo of a score of 0.76, the form in which Ordo takes its scale."""

Results = dict[tuple[str, str], list[int]]


def read(folder: Path, pattern: str) -> Results:
    """Return the wins of every two bots against each other, names in order."""
    found: Results = {}
    for path in sorted(folder.glob(pattern)):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if row := LINE.fullmatch(line.strip()):
                one, other = (row[side].strip().upper() for side in ("one", "other"))
                wins = [int(row["won"]), int(row["lost"])]
                if one == other or not sum(wins):
                    continue
                kept = found.setdefault((min(one, other), max(one, other)), [0, 0])
                for place, won in enumerate(wins if one < other else wins[::-1]):
                    kept[place] += won
    return found


def rate(results: Results, seed: int) -> Ratings:
    """Rate all bots; pairs are drawn, because it is not published which matches form one."""
    rng = np.random.default_rng(seed)
    names = sorted({name for pair in results for name in pair})
    index = {name: number for number, name in enumerate(names)}
    rows: list[tuple[int, int, int, int, int, int]] = []
    for (low, high), (won, lost) in results.items():
        half = rng.permutation([2] * won + [0] * lost)
        for number, points in enumerate(half.tolist()):
            sides = (
                (index[low], index[high], points)
                if number % 2 == 0
                else (index[high], index[low], 2 - points)
            )
            rows.append((*sides, len(rows) - number % 2, number // 2, len(rows)))
    return fit(encounters(MatchArrays.of(np.array(rows, dtype=np.int64))), names)


def ordo(program: Path, pgn: Path) -> dict[str, float]:
    """Return Ordo's ratings on the scale of the formula."""
    out = pgn.with_suffix(".csv")
    words = [program, "-q", "-G", "-M", "-z", f"{SCORE_76:.4f}", "-N", "3", "-p", pgn, "-c", out]
    subprocess.run(words, check=True, capture_output=True)  # noqa: S603 - a program the caller names
    rows = re.findall(r'^\d+,"(.+?)",(-?[\d.]+)', out.read_text(encoding="utf-8"), re.MULTILINE)
    return {name: float(elo) for name, elo in rows}


def bayeselo(program: Path, pgn: Path) -> dict[str, float]:
    """Return BayesElo's ratings by maximum likelihood, without draws and first-move advantage, unscaled."""
    asked = [f"readpgn {pgn}", "elo", "prior 0", "advantage 0", "drawelo 0.01", "mm", "scale 1", "ratings"]
    done = subprocess.run(  # noqa: S603 - as above
        [program], input="\n".join([*asked, "x", "x", ""]), check=False, capture_output=True, text=True
    )
    rows = re.findall(r"^ *\d+ (\S.*?) +(-?\d+) +[\d.]+ +\d+ +\d+ +\d+ +[\d.]+ ", done.stdout, re.MULTILINE)
    return {name: float(elo) for name, elo in rows}


def write_pgn(results: Results, path: Path) -> None:
    """Write matches without moves, half of them with each bot first."""
    with path.open("w", encoding="utf-8") as file:
        for (low, high), (won, lost) in results.items():
            for number, is_win in enumerate([True] * won + [False] * lost):
                first, second = (low, high) if number % 2 == 0 else (high, low)
                result = "1-0" if is_win == (number % 2 == 0) else "0-1"
                file.write(f'[White "{first}"]\n[Black "{second}"]\n[Result "{result}"]\n\n{result}\n\n')


def compare(ratings: Ratings, others: Mapping[str, float]) -> str:
    """Return a table row of the differences of two lists: ranks of all bots, Elo of those with many games."""
    names = [name for name in ratings.names if name in others]
    ours = np.array([ratings.elo[ratings.names.index(name)] for name in names])
    theirs = np.array([others[name] for name in names])
    many = np.array([ratings.num_matches[ratings.names.index(name)] >= MANY for name in names])
    rank = float(np.corrcoef(ours.argsort().argsort(), theirs.argsort().argsort())[0, 1])
    gap = (ours - ours[many].mean()) - (theirs - theirs[many].mean())
    slope = np.cov(theirs[many], ours[many])[0, 1] / theirs[many].var(ddof=1)
    far = np.abs(gap[many])
    mean = float((far * far).mean()) ** 0.5
    return f"{len(names)} | {rank:.4f} | {slope:.3f} | {mean:.1f} | {far.max():.1f}"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", type=Path, help="folder of the published results")
    parser.add_argument("--pattern", default="*_[1234f].txt", help="files in it, for one kind of rules")
    parser.add_argument("--ordo", type=Path, help="the program")
    parser.add_argument("--bayeselo", type=Path, help="the program")
    parser.add_argument("--seed", type=int, default=1, help="seed of the drawn pairs")
    chosen = parser.parse_args()
    results = read(chosen.records, chosen.pattern)
    ratings = rate(results, chosen.seed)
    print(f"{len(ratings.names)} bots, {sum(map(sum, results.values()))} matches\n")
    print("| list | bots | rank correlation | slope | root mean square | largest |\n|" + " --- |" * 6)
    with tempfile.TemporaryDirectory() as folder:
        pgn = Path(folder) / "results.pgn"
        write_pgn(results, pgn)
        for name, program, ask in (("Ordo", chosen.ordo, ordo), ("BayesElo", chosen.bayeselo, bayeselo)):
            if program:
                print(f"| {name} | {compare(ratings, ask(program.resolve(), pgn))} |", flush=True)
    print("\n| gap up to | encounters | score | expected |\n|" + " --- |" * 4)
    elo = dict(zip(ratings.names, ratings.elo, strict=True))
    rows = np.array([(elo[low] - elo[high], *wins) for (low, high), wins in results.items()])
    rows[rows[:, 0] < 0] = rows[rows[:, 0] < 0][:, [0, 2, 1]] * [-1, 1, 1]
    for least, most in zip((0, *BANDS), BANDS, strict=False):
        band = rows[(rows[:, 0] >= least) & (rows[:, 0] < most)]
        num = band[:, 1:].sum(axis=1)
        expected = (num / (1 + np.exp(-LOGITS_PER_ELO * band[:, 0]))).sum()
        score, expected = (points / num.sum() for points in (band[:, 1].sum(), expected))
        print(f"| {most} | {len(band)} | {score:.3f} | {expected:.3f} |")


if __name__ == "__main__":
    main()
