"""Computes the identity of a competitor, in its present form and in those of earlier versions."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from arena.content.option_files import with_files
from arena.reserved import NAME, OUR_KEYS
from arena.shelf.records import hash_file
from arena_plugins.program import CMD, is_file, split_command
from arena_plugins.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Mapping


def identity_of(name: str, entry: str, options: Mapping[str, str], content: str) -> str:
    """Return the SHA-256 in hex that identifies a competitor.

    Args:
        name: the bot's name.
        entry: the entry point of its hook.
        options: its options, with files given by their paths in the content.
        content: SHA-256 of its files.
    """
    canonical = json.dumps([name, entry, dict(options), content], sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def hashed_before(spec: Spec) -> tuple[str, dict[str, str]]:
    """Return the spec and file hashes that identities were computed from before code was hashed."""
    options = {key: value for key, value in spec.options.items() if key != NAME}
    files: dict[str, Path] = {}
    for key, value in options.items():
        if key == CMD:
            words = enumerate(split_command(value))
            files |= {f"{key} {i}": Path(word) for i, word in words if is_file(word)}
        elif key not in OUR_KEYS and not value.replace(".", "", 1).isdecimal() and is_file(value):
            files[key] = Path(value)
    shown = Spec(spec.name, with_files(options, {key: path.name for key, path in files.items()}))
    return str(shown), {key: hash_file(path) for key, path in files.items()}


def identity_before(spec: str, distribution: str, version: str, hashes: Mapping[str, str]) -> str:
    """Return the identity that a competitor had before code was hashed."""
    content = json.dumps([spec, distribution, version, hashes], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()
