"""Merges options, files and defaults into one configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.coordinator.config import config_from, read_toml
from arena.home import user_config

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from arena.coordinator.config import TournamentConfig

_EXCLUDED = {"tc": ("st", "bank"), "st": ("tc",), "bank": ("tc",)}
"""Limits that each limit overrides if they come from a source of lower precedence."""


def configuration(
    given: Mapping[str, object], file: Path | None, defaults: Mapping[str, object]
) -> TournamentConfig:
    """Merge the configuration: options override the `--config` file, the user's own file, and the defaults.

    Args:
        given: values by parameter name; None and an empty tuple mean that an option was not given.
        file: the path that `--config` names, if any.
        defaults: defaults of the command, by option name, where they differ from the general ones.

    Raises:
        ConfigError: a file or a value cannot be used.
    """
    values: dict[str, object] = dict(defaults)
    for path in (user_config(), file):
        if path is not None:
            layer = read_toml(path)
            config_from(layer, str(path))
            _lay_over(values, layer)
    options = {key.replace("_", "-"): value for key, value in given.items() if value not in (None, ())}
    if "games" in options:
        options["games"] = int(str(options["games"]))
    _lay_over(values, options)
    return config_from(values, "options")


def _lay_over(values: dict[str, object], layer: Mapping[str, object]) -> None:
    for key in layer:
        for excluded in _EXCLUDED.get(key, ()):
            values.pop(excluded, None)
    values.update(layer)
