"""Distributes tests to the processes of pytest-xdist: whole files, and the folder `house` as one."""

from __future__ import annotations

from typing_extensions import override
from xdist.scheduler import LoadFileScheduling  # pyright: ignore[reportMissingTypeStubs] # it has none

HOUSE = "tests/house/"
"""Its tests read the syntax trees of all sources; each process that runs one of them parses for 2.4 s."""


class HouseScheduling(LoadFileScheduling):
    """`--dist loadfile`, except for one folder."""

    @override
    def _split_scope(self, nodeid: str) -> str:
        return HOUSE if nodeid.startswith(HOUSE) else super()._split_scope(nodeid)
