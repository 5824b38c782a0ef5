"""Loaders: the same training data from every format and for every framework; damage is reported."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from arena.errors import ExportError
from arena.export import tf_loader, torch_loader
from arena.export.dataset import Dataset
from arena.export.match_selection import POSITION_FORMATS, ExportQuery
from arena.export.writing import ExportSettings, export_positions
from arena_db.store import Store
from children import modules_after
from exports import EVERYTHING, OPENING, fill

if TYPE_CHECKING:
    from pathlib import Path

    from arena.export.dataset import Batch

QUERY = ExportQuery(where=EVERYTHING)
SHUFFLED: dict[str, Any] = {"shuffle": 3, "symmetry": "random", "seed": 5, "policy": "played"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a small export in each format, and one of a square game."""
    folder = tmp_path_factory.mktemp("exports")
    fill(folder / "arena.db", num=9)
    fill(folder / "square.db", "gomoku:k=4,size=6", num=4)
    for form in POSITION_FORMATS:
        with Store.open(folder / "arena.db") as store:
            export_positions(store, QUERY, ExportSettings(form=form, split=0.7), folder / form)
    with Store.open(folder / "square.db") as store:
        export_positions(store, QUERY, ExportSettings(form="npz"), folder / "square")
    return folder


def _equal(one: Batch, other: Batch) -> bool:
    return one.keys() == other.keys() and all(
        array.dtype == other[name].dtype
        and np.array_equal(array, other[name], equal_nan=array.dtype.kind == "f")
        for name, array in one.items()
    )


def test_arrays_are_the_columns_as_networks_want_them(folder: Path) -> None:
    data = Dataset.open(folder / "npz")
    rows, columns = data.arrays("train"), data.columns("train")
    num = data.num_rows("train")
    assert rows["planes"].shape == (num, 2, 6, 7)
    assert rows["planes"].dtype == np.float32
    for plane, name in enumerate(("own", "opp")):
        bits = rows["planes"][:, plane].reshape(num, -1).astype(object) @ np.array(
            [1 << i for i in range(42)]
        )
        assert (bits == columns[name][:, 0].astype(object)).all()
    assert (rows["legal"] @ (1 << np.arange(7)) == columns["legal"][:, 0]).all()
    assert (rows["has_policy"] == ~np.isnan(columns["policy"]).any(axis=1)).all()
    assert np.array_equal(rows["policy"][rows["has_policy"]], columns["policy"][rows["has_policy"]])
    assert not rows["policy"][~rows["has_policy"]].any()
    for name in (
        "value",
        "root_value",
        "solver_value",
        "action",
        "plies_to_end",
        "ply",
        "player",
        "match_id",
    ):
        assert np.array_equal(rows[name], columns[name], equal_nan=name.endswith("value")), name


def test_what_was_played_stands_in_for_a_policy_but_not_in_openings(folder: Path) -> None:
    data = Dataset.open(folder / "npz")
    stored, played = data.arrays("train"), data.arrays("train", policy="played")
    assert (played["has_policy"] == (stored["ply"] >= OPENING)).all()
    added = played["has_policy"] & ~stored["has_policy"]
    assert added.any()
    assert (played["policy"][added].argmax(axis=1) == stored["action"][added]).all()
    assert (played["policy"][added].sum(axis=1) == 1).all()


@pytest.mark.parametrize("wish", [{}, SHUFFLED], ids=["plain", "shuffled"])
def test_all_formats_and_batch_sizes_give_the_same_rows(folder: Path, wish: dict[str, Any]) -> None:
    whole = Dataset.open(folder / "npz").arrays("train", **wish)
    for form in POSITION_FORMATS:
        batches = list(Dataset.open(folder / form).batches("train", 16, **wish))
        assert {len(batch["value"]) for batch in batches[:-1]} == {16}
        joined = {name: np.concatenate([batch[name] for batch in batches]) for name in whole}
        assert _equal(joined, whole), form


def test_shuffling_is_by_the_seed_and_keeps_every_row(folder: Path) -> None:
    data = Dataset.open(folder / "npz")

    def order(seed: int) -> list[tuple[int, int]]:
        rows = data.arrays("train", shuffle=seed)
        return list(zip(rows["match_id"].tolist(), rows["ply"].tolist(), strict=True))

    assert order(1) == order(1) != order(2)
    assert sorted(order(1)) == sorted(order(2))
    assert len(set(order(1))) == data.num_rows("train")


@pytest.mark.parametrize("name", ["npz", "square"])
def test_rows_are_turned_with_everything_that_belongs_to_them(folder: Path, name: str) -> None:
    data = Dataset.open(folder / name)
    plain = data.arrays("train", policy="played")
    turned = data.arrays("train", policy="played", symmetry="random", seed=4)
    assert not _equal(plain, turned)
    used: set[int] = set()
    for row in range(data.num_rows("train")):
        fitting: list[int] = []
        for index, symmetry in enumerate(data.symmetries):
            cells = np.empty((2, len(symmetry.cells)), np.float32)
            cells[:, list(symmetry.cells)] = plain["planes"][row].reshape(2, -1)
            actions = list(symmetry.actions)
            legal, policy = np.empty_like(plain["legal"][row]), np.empty_like(plain["policy"][row])
            legal[actions], policy[actions] = plain["legal"][row], plain["policy"][row]
            if (
                np.array_equal(cells.ravel(), turned["planes"][row].ravel())
                and np.array_equal(legal, turned["legal"][row])
                and np.array_equal(policy, turned["policy"][row])
                and turned["action"][row] == actions[plain["action"][row]]
            ):
                fitting.append(index)
        assert fitting, row
        used.update(fitting[:1] if len(fitting) == 1 else [])
    assert used == set(range(len(data.symmetries)))
    for same in ("value", "match_id", "ply", "count"):
        assert np.array_equal(plain[same], turned[same])


def test_a_last_batch_that_is_not_full_can_be_left_out(folder: Path) -> None:
    data = Dataset.open(folder / "npz")
    num = data.num_rows("train")
    sizes = [len(batch["value"]) for batch in data.batches("train", num - 1, drop_last=True)]
    assert sizes == [num - 1]
    assert [len(batch["value"]) for batch in data.batches("train", num - 1)] == [num - 1, 1]


@pytest.mark.parametrize("wish", [{}, SHUFFLED], ids=["plain", "shuffled"])
@pytest.mark.parametrize("num_workers", [0, 2])
# On a machine with one core there is a message about this.
@pytest.mark.filterwarnings("ignore:This DataLoader will create 2 worker processes:UserWarning")
def test_torch_gets_the_same_tensors(folder: Path, wish: dict[str, Any], num_workers: int) -> None:
    from torch.utils.data import DataLoader

    positions = torch_loader.positions(folder / "parquet", "train", 16, **wish)
    context = "spawn" if num_workers else None
    loader: Any = DataLoader(
        positions, batch_size=None, num_workers=num_workers, multiprocessing_context=context
    )
    found = [{name: tensor.numpy() for name, tensor in batch.items()} for batch in loader]
    wanted = list(Dataset.open(folder / "npz").batches("train", 16, **wish))
    assert len(found) == len(wanted)
    assert all(map(_equal, found, wanted))


@pytest.mark.parametrize("wish", [{}, SHUFFLED], ids=["plain", "shuffled"])
def test_tensorflow_gets_the_same_tensors(folder: Path, wish: dict[str, Any]) -> None:
    loader = tf_loader.positions(Dataset.open(folder / "npz"), "validation", 16, **wish)
    found = [{name: tensor.numpy() for name, tensor in batch.items()} for batch in loader]
    wanted = list(Dataset.open(folder / "npz").batches("validation", 16, **wish))
    assert len(found) == len(wanted) > 0
    assert all(map(_equal, found, wanted))


def test_loaders_import_no_framework_until_they_are_used(tmp_path: Path) -> None:
    loaded = modules_after("import arena.export.torch_loader, arena.export.tf_loader", tmp_path)
    heavy = {"torch", "tensorflow", "pyarrow", "sqlalchemy", "numba", "click", "arena_bots"}
    assert {name.partition(".")[0] for name in loaded} & heavy == set()


def test_queries_are_light(tmp_path: Path) -> None:
    loaded = modules_after("import arena.export.match_selection", tmp_path)
    assert {name.partition(".")[0] for name in loaded} & {"numpy", "sqlalchemy", "pyarrow", "numba"} == set()


def _copy(folder: Path, out: Path) -> dict[str, Any]:
    out.mkdir()
    for path in (folder / "npz").iterdir():
        (out / path.name).write_bytes(path.read_bytes())
    return json.loads((out / "manifest.json").read_bytes())


def test_a_damaged_file_is_named(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    _copy(folder, out)
    path = out / "train-00000.npz"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ExportError, match=r"train-00000\.npz is not the file that was exported"):
        Dataset.open(out)
    Dataset.open(out, verify=False)
    path.write_bytes(content[:-1])
    with pytest.raises(ExportError, match="was changed or cut off"):
        Dataset.open(out, verify=False)
    path.unlink()
    with pytest.raises(ExportError, match=r"train-00000\.npz cannot be read"):
        Dataset.open(out)


def test_pickles_are_never_loaded(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    _copy(folder, out)
    np.savez(out / "train-00000.npz", match_id=np.array([{"a": 1}], object))
    with pytest.raises(ExportError, match="is not the file"):
        Dataset.open(out)
    (out / "manifest.json").write_text(
        (out / "manifest.json")
        .read_text()
        .replace(
            f'"num_bytes": {(folder / "npz" / "train-00000.npz").stat().st_size}',
            f'"num_bytes": {(out / "train-00000.npz").stat().st_size}',
        )
    )
    with pytest.raises(ExportError, match=r"cannot be read|can be read"):
        Dataset.open(out, verify=False).arrays("train")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema_version": 2}, "has schema version 2, this arena reads 1"),
        ({"kind": "cake"}, "describes something else"),
        ({"game": 3}, "is damaged or not part of an export"),
        ({"kind": 7}, "is damaged or not part of an export"),
    ],
)
def test_other_manifests_are_refused(
    folder: Path, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    manifest = _copy(folder, tmp_path / "out")
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest | change))
    with pytest.raises(ExportError, match=message):
        Dataset.open(tmp_path / "out")


def test_files_elsewhere_are_refused(folder: Path, tmp_path: Path) -> None:
    manifest = _copy(folder, tmp_path / "out")
    manifest["splits"]["train"]["files"][0]["name"] = "../npz/train-00000.npz"
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ExportError, match="which is elsewhere"):
        Dataset.open(tmp_path / "out")


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"is not a folder of exported positions.*arena export OUT"):
        Dataset.open(tmp_path)


def test_what_is_not_there_is_named(folder: Path) -> None:
    data = Dataset.open(folder / "npz")
    with pytest.raises(ExportError, match='no split "trian"; did you mean "train"'):
        data.batches("trian")
    with pytest.raises(ExportError, match='no column "polcy"; did you mean "policy"'):
        data.columns("train", ["polcy"])
    with pytest.raises(ExportError, match="a batch of 0 rows"):
        data.batches("train", 0)


def test_a_split_without_rows_has_no_arrays(folder: Path, tmp_path: Path) -> None:
    with Store.open(folder / "arena.db") as store:
        export_positions(store, QUERY, ExportSettings(form="npz", split=1 - 1e-12), tmp_path / "out")
    data = Dataset.open(tmp_path / "out")
    assert list(data.batches("validation")) == []
    for call in (data.arrays, data.columns):
        with pytest.raises(ExportError, match="has no rows in validation"):
            call("validation")
