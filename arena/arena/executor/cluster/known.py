"""The cluster that was started on this machine last, so that its status can be asked without its address."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from arena.home import home


class KnownCluster(msgspec.Struct, frozen=True, kw_only=True):
    """Where a scheduler listens, and where its key is; the key itself stays in its file."""

    address: str
    keys: Path | None


def note_cluster(address: str, keys: Path | None) -> None:
    """Keep the address of a scheduler that was started here; where that cannot be, nothing is kept."""
    known = KnownCluster(address=address, keys=None if keys is None else keys.absolute())
    with suppress(OSError):
        home().mkdir(parents=True, exist_ok=True)
        _file().write_bytes(msgspec.json.encode(known, enc_hook=str))


def known_cluster() -> KnownCluster | None:
    """Return what was kept last; None if there is nothing."""
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(
            _file().read_bytes(), type=KnownCluster, dec_hook=lambda _, text: Path(text)
        )
    return None


def _file() -> Path:
    return home() / "cluster.json"
