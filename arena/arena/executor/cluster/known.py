"""The cluster that was last started on this machine, so that its status needs no address."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from arena.home import home


class KnownCluster(msgspec.Struct, frozen=True, kw_only=True):
    """The address of a scheduler and the path of its key file; the key itself is not copied."""

    address: str
    keys: Path | None


def note_cluster(address: str, keys: Path | None) -> None:
    """Store the address of a scheduler started on this machine; errors of the file system are ignored."""
    known = KnownCluster(address=address, keys=None if keys is None else keys.absolute())
    with suppress(OSError):
        home().mkdir(parents=True, exist_ok=True)
        _file().write_bytes(msgspec.json.encode(known, enc_hook=str))


def known_cluster() -> KnownCluster | None:
    """Return the cluster that was stored last; None if there is none."""
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(
            _file().read_bytes(), type=KnownCluster, dec_hook=lambda _, text: Path(text)
        )
    return None


def _file() -> Path:
    return home() / "cluster.json"
