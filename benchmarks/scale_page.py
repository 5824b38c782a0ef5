"""Writes the figures of a simulated store into docs/explanation/scale.md, as a table and as curves.

    python benchmarks/scale_page.py scale.json

The same figures give the same bytes.
"""

from __future__ import annotations

import argparse
import json
from math import ceil, floor, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from report.plot import STYLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PAGE: Final = Path(__file__).parents[1] / "docs" / "explanation" / "scale.md"
PICTURE: Final = PAGE.parents[1] / "images" / "scale.svg"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
ROWS: Final = (
    ("save_cpu_s_per_100k", "CPU s per 10⁵ matches, the newest: to save them"),
    ("sum_cpu_s_per_100k", "to add them to the sums"),
    ("plan_cpu_s_per_100k", "to store their plan before"),
    ("saved_per_cpu_s", "matches saved and summed per CPU s"),
    ("bytes_per_match", "bytes a match, on the disk"),
    ("leaderboard_cpu_s", "CPU s of `arena leaderboard`"),
    ("matches_cpu_s", "`arena matches`"),
    ("matches_of_bot_cpu_s", "`arena matches --bot`"),
    ("check_cpu_s", "`arena db check`, the store's part"),
    ("backup_cpu_s", "`arena db backup`"),
    ("archive_cpu_s", "`arena archive --cold` of 10⁴ matches"),
    ("unarchive_cpu_s", "`arena unarchive` of them"),
    ("cold_match_cpu_s", "`arena show` of one of them in files"),
)
CURVES: Final = (
    ("leaderboard_cpu_s", "leaderboard"),
    ("matches_cpu_s", "list of matches"),
    ("check_cpu_s", "full check"),
    ("backup_cpu_s", "backup"),
    ("archive_cpu_s", "archive 10⁴"),
)
COLOURS: Final = ("#0969da", "#bc4c00", "#8250df", "#1a7f37", "#bf3989")
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BELOW = 800, 360, 60, 50, 150, 40


def main() -> None:
    """Replace the figures of the page, and draw its picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path, help="the file of figures that simulate_scale.py wrote")
    marks: list[dict[str, Any]] = json.loads(parser.parse_args().report.read_text())["marks"]
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    told = table(marks)
    if len(marks) > 1:
        PICTURE.write_text(draw(marks), encoding="utf-8")
        told += "\n![CPU seconds of commands by the number of matches](../images/scale.svg)\n"
    PAGE.write_text(f"{before}{BEGIN}\n{told}{END}{after}", encoding="utf-8")


def table(marks: Sequence[dict[str, Any]]) -> str:
    """Return the figures as a Markdown table, a column per mark."""
    lines = [
        "| matches | " + " | ".join(f"{mark['matches']:,}" for mark in marks) + " |",
        "| --- |" + " --- |" * len(marks),
    ]
    for name, told in ROWS:
        if any(name in mark for mark in marks):
            lines.append(f"| {told} | " + " | ".join(_figure(mark.get(name)) for mark in marks) + " |")
    return "\n".join(lines) + "\n"


def draw(marks: Sequence[dict[str, Any]]) -> str:
    """Return the curves of the reads as SVG, both axes logarithmic."""
    values = [mark[name] for mark in marks for name, _ in CURVES if mark.get(name)]
    xs = (floor(log10(marks[0]["matches"])), ceil(log10(marks[-1]["matches"])))
    ys = (floor(log10(min(values))), ceil(log10(max(values))))

    def at(matches: float, seconds: float) -> tuple[float, float]:
        x = LEFT + (log10(matches) - xs[0]) / (xs[1] - xs[0]) * (WIDTH - LEFT - RIGHT)
        y = HEIGHT - BELOW - (log10(seconds) - ys[0]) / (ys[1] - ys[0]) * (HEIGHT - TOP - BELOW)
        return round(x, 1), round(y, 1)

    def parts() -> Iterator[str]:
        yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"><style>{STYLE}</style>'
        yield '<text class="title" x="10" y="24">CPU seconds by matches in the store</text>'
        for power in range(ys[0], ys[1] + 1):
            _, y = at(10 ** xs[0], 10**power)
            yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'
            yield f'<text class="minor" x="10" y="{y + 4}">{10.0**power:g} s</text>'
        for power in range(xs[0], xs[1] + 1):
            x, _ = at(10**power, 10 ** ys[0])
            yield f'<text class="minor" x="{x - 20}" y="{HEIGHT - 14}">{10**power:,}</text>'
        for (name, told), colour in zip(CURVES, COLOURS, strict=True):
            points = [at(mark["matches"], mark[name]) for mark in marks if mark.get(name)]
            line = " ".join(f"{x},{y}" for x, y in points)
            yield f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>'
            yield from (f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in points)
            if points:
                x, y = points[-1]
                yield f'<text x="{x + 8}" y="{y + 4}" style="fill: {colour}">{told}</text>'
        yield "</svg>"

    return "\n".join(parts()) + "\n"


def _figure(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"  # noqa: PLR2004 - three digits are enough


if __name__ == "__main__":
    main()
