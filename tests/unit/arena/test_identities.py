from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
from typing import TYPE_CHECKING

import pytest

from arena.entrants import as_entered, resolve
from arena.errors import PluginError
from arena.identities import shipped_weights
from arena_db.records import BotRecord

if TYPE_CHECKING:
    from pathlib import Path

INDEX = """
option = "level"
default = "strong"
instead = "weights"
[files]
strong = ["strong*.npz"]
weak = ["weak.npz"]
"""
NEVER_RUN = "raise SystemExit('a module of a bot was imported')\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the bot `learner` discoverable, whose package has weights and must not be imported."""
    site = tmp_path / "site"
    folder = site / "learner_bots" / "deep"
    (folder / "weights").mkdir(parents=True)
    for module in ("../__init__.py", "__init__.py", "bot.py"):
        (folder / module).write_text(NEVER_RUN)
    for name in ("strong.npz", "strong-2.npz", "weak.npz"):
        (folder / "weights" / name).write_text(name)
    metadata = site / "learner-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: learner\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[arena.bots]\nlearner = learner_bots.deep.bot:hooks\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(site)])
    return folder


def record(spec: str) -> BotRecord:
    return resolve([spec], margin_ms=0)[0].record


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_weights_belong_to_a_bot_and_nothing_is_imported(package: Path) -> None:
    before = record("learner")
    assert sha256(package / "weights" / "weak.npz") in before.files
    assert not any(name.startswith("learner_bots") for name in sys.modules)
    (package / "weights" / "weak.npz").write_text("trained again")
    after = record("learner")
    assert after.spec == before.spec
    assert after.identity != before.identity
    (package / "weights" / "weak.npz").write_text("weak.npz")
    assert record("learner") == before


def test_what_tools_leave_beside_does_not_count(package: Path) -> None:
    before = record("learner")
    for name in (".strong.npz.swp", "__pycache__/x.pyc", "strong.npz~", ".DS_Store"):
        path = package / "weights" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("whatever")
    assert record("learner").identity == before.identity


def test_every_other_file_of_a_package_is_its_content(package: Path) -> None:
    """A bot may read any of its files, so each file is part of its identity."""
    found = [record("learner")]
    for name in ("strong.provenance.toml", "../other.npz", "deeper/more.bin"):
        path = package / "weights" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("whatever")
        found.append(record("learner"))
    assert len({each.identity for each in found}) == 4
    assert "weights/deeper/more.bin" in found[-1].files
    assert "provenance" not in found[-1].files


def test_an_index_says_which_weights_a_spec_plays_with(package: Path, tmp_path: Path) -> None:
    (package / "weights" / "index.toml").write_text(INDEX)
    specs = ("learner", "learner:level=strong", "learner:level=weak", "learner:level=other")
    strong = ["weights/strong-2.npz", "weights/strong.npz"]
    names = {spec: sorted(shipped_weights("learner_bots.deep.bot", options_of(spec))) for spec in specs}
    assert names == {
        specs[0]: strong,
        specs[1]: strong,
        specs[2]: ["weights/weak.npz"],
        specs[3]: [*strong, "weights/weak.npz"],
    }
    mine = tmp_path / "mine.npz"
    mine.write_text("mine")
    before = [record(spec) for spec in (*specs, f"learner:weights={mine}")]
    (package / "weights" / "weak.npz").write_text("trained again")
    after = [record(spec) for spec in (*specs, f"learner:weights={mine}")]
    changed = [one.files != other.files for one, other in zip(before, after, strict=True)]
    assert changed == [False, False, True, True, False]
    assert "weights/" not in after[-1].files


def options_of(spec: str) -> dict[str, str]:
    _, _, text = spec.partition(":")
    return dict([text.split("=")]) if text else {}


@pytest.mark.parametrize("content", ["option = 5", "other = 'x'", "[[", "files = {a = 'x'}", "\x00"])
def test_an_index_that_cannot_be_read_is_named(package: Path, content: str) -> None:
    (package / "weights" / "index.toml").write_text(content)
    with pytest.raises(PluginError, match=r"index\.toml does not say which weights a bot plays with"):
        record("learner")


def test_weights_that_cannot_be_read_are_named(package: Path) -> None:
    (package / "weights" / "index.toml").mkdir()
    with pytest.raises(PluginError, match=r"the weights in .*weights cannot be read \(Is a directory\)"):
        record("learner")


def test_a_namespace_package_brings_weights_and_a_lone_module_none(package: Path) -> None:
    for name in ("__init__.py", "../__init__.py"):
        (package / name).unlink()
    assert len(shipped_weights("learner_bots.deep.bot", {})) == 3
    assert len(shipped_weights("learner_bots.deep", {})) == 3
    site = package.parents[1]
    (site / "lone.py").write_text(NEVER_RUN)
    (site / "weights").mkdir()
    (site / "weights" / "of-anybody.npz").write_text("x")
    for module in ("lone", "lone.part", "nowhere", "learner_bots.nowhere"):
        assert shipped_weights(module, {}) == {}


def test_bundled_bots_are_known_by_their_weights() -> None:
    assert list(shipped_weights("arena_bots.td_lambda.bot", {})) == ["weights/best.npz"]
    assert list(shipped_weights("arena_bots.td_lambda.bot", {"recipe": "linear"})) == ["weights/linear.npz"]
    names = list(shipped_weights("arena_bots.keras_wdl.bot", {"recipe": "article"}))
    assert names == ["weights/connect-four-article.onnx", "weights/tic-tac-toe-article.onnx"]
    assert shipped_weights("arena_bots.keras_wdl.bot", {"weights": "mine.onnx"}) == {}
    assert shipped_weights("arena_bots.mcts", {}) == {}


def test_an_older_store_knows_a_bot_without_its_code(package: Path) -> None:
    """Earlier identities followed this formula, which is repeated here."""
    now = resolve(["learner:level=weak"], margin_ms=0)[0]
    hashes = dict(json.loads(now.record.files))
    was = before_code_was_hashed("learner:level=weak", hashes)
    assert as_entered(now, now.record) is now
    for older in (was, before_code_was_hashed("learner:level=weak", {})):
        entered = as_entered(now, older)
        assert entered is not None
        assert (entered.record, entered.spec, entered.place) == (older, now.spec, now.place)
    assert as_entered(now, before_code_was_hashed("learner", hashes)) is None
    # For a record with a content hash, only that hash counts.
    assert as_entered(now, dataclasses.replace(was, content="0" * 64)) is None
    assert (
        as_entered(now, before_code_was_hashed("learner:level=weak", {"weights/weak.npz": "0" * 64})) is None
    )
    (package / "weights" / "weak.npz").write_text("trained again")
    assert as_entered(resolve(["learner:level=weak"], margin_ms=0)[0], was) is None


def before_code_was_hashed(spec: str, hashes: dict[str, str]) -> BotRecord:
    text = json.dumps([spec, "learner", "1.0", hashes], sort_keys=True)
    return BotRecord(
        identity=hashlib.sha256(text.encode()).hexdigest(),
        name="learner",
        spec=spec,
        distribution="learner",
        version="1.0",
        files=json.dumps(hashes),
    )
