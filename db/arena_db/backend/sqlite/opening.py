"""Examines the file at a place and its file system before it is used as a store; creates or upgrades it."""

from __future__ import annotations

import os
import re
import time
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from arena_db.backend import revisions
from arena_db.backend.sqlite.backup import copy_to
from arena_db.backend.sqlite.engine import (
    FileSettings,
    has_log,
    make_engine,
    make_migration_engine,
    open_raw,
    writing,
)
from arena_db.backend.sqlite.moving import settle
from arena_db.backend.sqlite.schema import refuse_code
from arena_db.errors import (
    AccessError,
    DamagedError,
    ForeignError,
    MissingError,
    OlderError,
    TakenError,
    UnsupportedError,
)
from arena_db.failures import explain
from arena_db.models import APPLICATION_ID, REVISION
from arena_db.resumming import step

if TYPE_CHECKING:
    from collections.abc import Generator

_BACKUPS: Final = 99
"""Maximum number of backups that upgrades make within one second."""


def prepare(settings: FileSettings, *, create: bool) -> None:
    """Create a store, or upgrade it after a backup, so that it has the current revision.

    Raises:
        DatabaseError: it cannot be used; the subclass says why.
    """
    path = settings.place
    # Before anything is examined: in the middle of a move the file has another name.
    settle(settings)
    if not path.exists() and (settings.read_only or not create):
        raise MissingError(f"no store at {path}; run a tournament first, or name a store with --db FILE")
    if not path.parent.is_dir():
        raise MissingError(
            f"no folder {path.parent} for the store; create it, or name another place with --db FILE"
        )
    # A reader of a file without a log needs no memory shared with other machines, so a copy on a server can
    # be read.
    kind = network_type(path)
    if kind is not None and (not settings.read_only or has_log(path)):
        raise UnsupportedError(
            f"{path} is on a network file system ({kind}), where a store can be damaged; name one on a "
            "local disk with --db FILE, or set ARENA_HOME to a local folder"
        )
    if not settings.read_only and not _may_write(path):
        raise AccessError(
            f"{path} is not writable for you; check its permissions, or name another with --db FILE"
        )
    revision, is_unfinished = _look(settings, path)
    if revision != REVISION or is_unfinished:
        _bring_up_to_date(settings, revision)


def _bring_up_to_date(settings: FileSettings, revision: str | None) -> None:
    """Create or upgrade the tables, or resume an interrupted upgrade.

    Raises:
        DatabaseError: the store is opened read-only; it cannot be upgraded.
    """
    path = settings.place
    if settings.read_only and revision is None:
        raise MissingError(f"{path} is empty; run a tournament first, or name a store with --db FILE")
    if settings.read_only and revision == REVISION:
        raise OlderError(f"the upgrade of {path} was interrupted; `arena db upgrade` finishes it")
    if settings.read_only:
        raise revisions.older(path)
    if revision != REVISION:
        if revision is not None:
            _back_up(settings)
        _make_tables(settings)
    # Outside the transaction of the upgrade: this takes long, and finished batches are kept.
    _go_on(settings)


def _is_unfinished(raw: Any) -> bool:  # noqa: ANN401 - a connection of one of two libraries
    """Return whether an upgrade of this store has not counted all matches yet."""
    return raw.execute("SELECT 1 FROM summing WHERE upgrading = 1").fetchone() is not None


def _go_on(settings: FileSettings) -> None:
    """Count the matches that an upgrade has not counted yet, one batch per transaction.

    It may be interrupted at any moment; the next process that opens the store resumes it. Several processes
    alternate.

    Raises:
        DamagedError: at the end the sums do not include all matches.
    """
    engine = make_engine(settings)
    try:
        is_done = False
        while not is_done:
            with writing(engine, settings) as connection:
                is_done = step(connection)
    finally:
        engine.dispose()


def _may_write(path: Path) -> bool:
    # SQLite opens an unwritable file read-only, and reports that only at the first write.
    return os.access(path.parent, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))


def _look(settings: FileSettings, path: Path) -> tuple[str | None, bool]:
    """Return the tables' revision, None if a store may be created; and whether an upgrade is unfinished."""
    if not path.exists() or (path.stat().st_size == 0 and not settings.read_only):
        return None, False
    if path.with_name(f"{path.name}-journal").exists():
        _undo(settings)
        if path.stat().st_size == 0:
            return None, False
    with closing(open_raw(replace(settings, read_only=True))) as raw:
        revision = read_revision(raw, settings)
        with _told(settings):
            return revision, revision == REVISION and _is_unfinished(raw)


def _undo(settings: FileSettings) -> None:
    """Roll back what a killed process was doing to a file before write-ahead logging was enabled.

    Raises:
        MissingError: the file is unfinished, and rolling back needs write access.
    """
    module = settings.driver.module
    mode = "ro" if settings.read_only else "rw"
    try:
        with closing(
            module.connect(
                f"{settings.place.as_uri()}?mode={mode}", uri=True, timeout=settings.busy_ms / 1000
            )
        ) as raw:
            # The first read of a file with a hot journal makes SQLite roll it back.
            raw.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except (module.Error, UnicodeDecodeError) as error:
        if settings.read_only:
            raise MissingError(
                f"{settings.place} is incomplete: its creator was killed; run the tournament again, "
                "or name another store with --db FILE"
            ) from error
        raise explain(error, settings.place) from error


def read_revision(raw: Any, settings: FileSettings) -> str | None:  # noqa: ANN401 — a connection of one of two libraries
    """Return the revision of the tables that a connection reads; None if there are none.

    Raises:
        ForeignError: it is not a store.
        AlteredError: it has a trigger, a view or a virtual table.
        NewerError: a newer version made it.
        DamagedError: it cannot be read.
    """
    with _told(settings):
        return _revision(raw, settings.place)


@contextmanager
def _told(settings: FileSettings) -> Generator[None]:
    """Raise the errors of the store in place of the driver's, while the first tables are read."""
    try:
        yield
    except (settings.driver.module.Error, UnicodeDecodeError) as error:
        if "no such table" in str(error):
            raise DamagedError(f"{settings.place} is damaged ({error}); put a backup in its place") from error
        raise explain(error, settings.place) from error


def _revision(raw: Any, path: Path) -> str | None:  # noqa: ANN401 — see above
    (application_id,) = raw.execute("PRAGMA application_id").fetchone()
    (num_tables,) = raw.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application_id == 0 and num_tables == 0:
        return None
    if application_id != APPLICATION_ID:
        raise ForeignError(f"{path} is not a store of arena; name another file with --db FILE")
    # Before the first table is read: a view could have its name.
    refuse_code(raw, path)
    row = raw.execute("SELECT version_num FROM alembic_version").fetchone()
    return revisions.known(None if row is None else str(row[0]), path, "put a backup in its place")


def _make_tables(settings: FileSettings) -> None:
    with writing(make_migration_engine(settings), settings) as connection:
        # Again under the write lock: another process may have upgraded the store meanwhile.
        revision = read_revision(connection.connection.driver_connection, settings)
        revisions.bring_up_to_date(connection, revision)


def _back_up(settings: FileSettings) -> None:
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    for suffix in ("", *(f"-{number}" for number in range(2, _BACKUPS + 1))):
        # If two processes upgrade in one second, each makes a backup of its own.
        with suppress(TakenError):
            copy_to(settings, settings.place.with_name(f"{settings.place.name}.{stamp}{suffix}.bak"))
            return
    raise TakenError(f"{settings.place} already has {_BACKUPS} backups from this second; move them away")


_MOUNTS: Final = Path("/proc/mounts")

_NETWORK: Final = frozenset(
    {
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "gfs2",
        "glusterfs",
        "gpfs",
        "lustre",
        "nfs",
        "nfs4",
        "ocfs2",
        "pvfs2",
        "smb3",
        "smbfs",
        "fuse.cephfs",
        "fuse.glusterfs",
        "fuse.rclone",
        "fuse.sshfs",
    }
)
"""File systems shared by several machines: the index of a write-ahead log is in the memory of one machine
(https://www.sqlite.org/wal.html#overview)."""


def network_type(path: Path) -> str | None:
    """Return the type of the network file system that contains a path; None if it is not a known one."""
    try:
        lines = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    parents = {str(folder) for folder in (path.resolve(), *path.resolve().parents)}
    fields = [line.split(" ") for line in lines]
    # Of two mounts on one folder the later one is visible.
    mounts = {_unescaped(point): kind for _, point, kind, *_ in fields if _unescaped(point) in parents}
    kind = mounts[max(mounts, key=len)] if mounts else ""
    return kind if kind in _NETWORK else None


def _unescaped(text: str) -> str:
    """Return a field of `/proc/mounts` with its octal escapes of blanks and backslashes decoded."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)
