"""A folder with the matches of one tournament: Parquet files, and a manifest with their hashes."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from arena_db.cold.parquet import read_rows, write_rows
from arena_db.errors import DamagedError
from arena_db.files import sync_file, sync_folder
from arena_db.models import analyses, matches, planned, remarks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from sqlalchemy import Table

    from arena_db.cold.parquet import Row

TABLES: Final = (planned, matches, remarks, analyses)
"""The tables whose rows are in a folder, ordered so that referenced rows come first."""
MANIFEST: Final = "manifest.json"
FORMAT: Final = "arena-cold/1"
"""Format of the manifest; the columns of the files are those of the revision that it names."""
_CHUNK: Final = 1 << 20
"""Bytes of a file that are hashed at once: an archive need not fit into memory."""


def write(
    folder: Path, rows_of: Callable[[Table], Iterable[Row]], about: Mapping[str, object]
) -> dict[str, Any]:
    """Write files and manifest into an empty folder, synced to the disk; return the manifest.

    Args:
        folder: the folder.
        rows_of: returns the rows of a table in the order of its key.
        about: further entries of the manifest.

    Raises:
        UnsupportedError: pyarrow is not installed.
        OSError: a file cannot be written.
    """
    files: dict[str, dict[str, object]] = {}
    for table in TABLES:
        counted = HashedRows(rows_of(table))
        path = file_of(folder, table)
        write_rows(path, table, counted)
        sync_file(path)
        files[path.name] = {"sha256": hash_of(path)} | counted.facts()
    # Written last, so that a folder with a manifest has all files, even if this process is killed.
    manifest: dict[str, Any] = {"format": FORMAT} | dict(about) | {"files": files}
    path = folder / MANIFEST
    path.write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sync_file(path)
    # Names of files are data of their folder: without this, a power cut could leave synced files without
    # names.
    sync_folder(folder)
    return manifest


def read_manifest(folder: Path) -> tuple[dict[str, Any], bytes]:
    """Return the manifest of a folder and its SHA-256.

    Raises:
        DamagedError: it is missing or cannot be read.
    """
    path = folder / MANIFEST
    try:
        content = path.read_bytes()
        manifest: dict[str, Any] = json.loads(content)
        known = {name: (facts["sha256"], facts["num_rows"]) for name, facts in manifest["files"].items()}
    except FileNotFoundError as error:
        raise DamagedError(f"{path} is missing") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedError(f"{path} cannot be read ({error})") from error
    if manifest.get("format") != FORMAT or set(known) != {file_of(folder, table).name for table in TABLES}:
        raise DamagedError(f"{path} is not the manifest of an archived tournament")
    # Over the bytes of the file, not over what was parsed from them.
    return manifest, sha256(content).digest()


def check_files(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Compare each file with its SHA-256 in the manifest.

    Raises:
        DamagedError: one is missing or differs.
    """
    for table in TABLES:
        path = file_of(folder, table)
        try:
            found = hash_of(path)
        except FileNotFoundError as error:
            raise DamagedError(f"{path} is missing") from error
        except OSError as error:
            raise DamagedError(f"{path} cannot be read ({error.strerror})") from error
        if found != manifest["files"][path.name]["sha256"]:
            raise DamagedError(f"{path} is not as it was written")


def rows_in(folder: Path, manifest: Mapping[str, Any], table: Table) -> Iterator[Row]:
    """Yield the rows of a table from its file; at the end compare them with the manifest.

    Raises:
        DamagedError: the file cannot be read, or its rows are not those that were written.
    """
    path = file_of(folder, table)
    counted = HashedRows(read_rows(path, table))
    yield from counted
    if any(manifest["files"][path.name].get(name) != value for name, value in counted.facts().items()):
        raise DamagedError(f"{path} does not hold the rows that were written")


def file_of(folder: Path, table: Table) -> Path:
    """Return the file of a table."""
    return folder / f"{table.name}.parquet"


def hash_of(path: Path) -> str:
    """Return the SHA-256 of a file in hex."""
    found = sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()


class HashedRows:
    """Passes rows on, and counts and hashes them."""

    def __init__(self, rows: Iterable[Row]) -> None:
        """Wrap some rows."""
        self._rows = rows
        self._hash = sha256()
        self._num = 0

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows."""
        for row in self._rows:
            # JSON separates rows and values, and is exact for floats; any language can compute it again.
            told = [value.hex() if isinstance(value, bytes | memoryview) else value for value in row]
            self._hash.update(json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
            self._num += 1
            yield row

    def facts(self) -> dict[str, object]:
        """Return number and hash of the rows so far."""
        return {"num_rows": self._num, "rows_sha256": self._hash.hexdigest()}
