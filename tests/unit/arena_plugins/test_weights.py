from __future__ import annotations

import io
import pickle
import tracemalloc
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays, floating_dtypes, integer_dtypes
from onnx import TensorProto, helper

from arena_plugins import PluginError, load_arrays, load_onnx
from odd_archives import encrypted, with_unknown_compression

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

NUMBERS = floating_dtypes(endianness="=", sizes=(16, 32, 64)) | integer_dtypes(endianness="=")


def write(folder: Path, members: Mapping[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    path = folder / "weights.npz"
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def array_file(array: NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def claim(shape: str, content: bytes = b"", *, dtype: str = "'<f4'", version: bytes = b"\x01\x00") -> bytes:
    header = f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    size = len(header).to_bytes(2 if version[0] == 1 else 4, "little")
    return b"\x93NUMPY" + version + size + header + content


@given(st.dictionaries(st.sampled_from("abc"), arrays(NUMBERS, array_shapes(min_dims=0, min_side=0))))
def test_arrays_come_back(
    tmp_path_factory: pytest.TempPathFactory, saved: dict[str, NDArray[np.number[Any]]]
) -> None:
    path = tmp_path_factory.mktemp("weights") / "weights.npz"
    turned = {f"{name}-by-columns": np.asfortranarray(array) for name, array in saved.items()}
    all_of_them: dict[str, Any] = {"one": np.float32(1.5), **saved, **turned}
    np.savez_compressed(path, **all_of_them)
    loaded = load_arrays(path)
    assert loaded.keys() == all_of_them.keys()
    for name, array in all_of_them.items():
        np.testing.assert_array_equal(loaded[name], array, strict=True)


def test_what_was_read_can_be_changed(tmp_path: Path) -> None:
    np.savez(tmp_path / "weights.npz", table=np.zeros(3))
    loaded = load_arrays(tmp_path / "weights.npz")["table"]
    loaded[1] = 2.0
    assert loaded.tolist() == [0.0, 2.0, 0.0]


OBJECTS = np.array([{"a": 1}, None], dtype=object)


@pytest.mark.parametrize(
    ("member", "reason"),
    [
        (claim("(1 << 38,)"), "cannot be read"),
        (claim("(274877906944,)"), "claims 1099511627776 bytes but has 0"),
        (claim("(274877906944,)", version=b"\x02\x00"), "claims 1099511627776 bytes but has 0"),
        (claim("(2,)", b"1234"), "claims 8 bytes but has 4"),
        (claim("(1,)", b"12345678"), "claims 4 bytes but has 8"),
        (claim("(-2, -2)", b"0" * 16), "cannot be read"),
        (claim("(1000000000000,)", dtype="'S0'"), "cannot be read"),
        (claim("(1,)", b"1234", version=b"\x03\x00"), r"version \(3, 0\)"),
        (claim("(" * 5000), "cannot be read"),
        (claim("()", b"0" * 20_000, dtype="'" + "x" * 20_000 + "'"), "cannot be read"),
        (array_file(OBJECTS), "holds Python objects, which are stored as a pickle"),
        (b"no array", "cannot be read"),
        (b"", "cannot be read"),
    ],
)
def test_an_array_that_is_not_what_it_claims_is_refused(tmp_path: Path, member: bytes, reason: str) -> None:
    path = write(tmp_path, {"table.npy": member})
    tracemalloc.start()
    with pytest.raises(PluginError, match=reason):
        load_arrays(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 24


def test_a_small_file_that_unpacks_to_much_is_refused_before_it_does(tmp_path: Path) -> None:
    zeros = array_file(np.zeros(1 << 20, np.float32))
    path = write(tmp_path, {"a.npy": zeros, "b.npy": zeros}, zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 1 << 16
    with pytest.raises(PluginError, match="unpacks to 8388864 bytes, more than the 5000000 allowed"):
        load_arrays(path, max_bytes=5_000_000)
    assert load_arrays(path, max_bytes=10_000_000).keys() == {"a", "b"}


def test_an_archive_with_anything_else_is_refused(tmp_path: Path) -> None:
    keras = write(tmp_path, {"config.json": b"{}", "model.weights.h5": b"\x89HDF\r\n"})
    with pytest.raises(PluginError, match=r"holds 'config.json', which is not an array; save weights with"):
        load_arrays(keras)
    with pytest.raises(PluginError, match="is not an ONNX model but an archive"):
        load_onnx(keras)


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, {"table.npy": array_file(np.arange(100))})
    whole = path.read_bytes()
    changed = whole.replace(b"\x05\x00\x00", b"\x06\x00\x00", 1)
    for damaged in (whole[:200], changed, with_unknown_compression(whole), encrypted(whole)):
        path.write_bytes(damaged)
        with pytest.raises(PluginError, match="cannot be read"):
            load_arrays(path)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (pickle.dumps([1]), "a pickle, which runs code"),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
        (array_file(np.zeros(3)), "a single array"),
        (b"text", "something else"),
        (b"", "something else"),
    ],
)
def test_other_kinds_of_files_are_refused_by_what_is_in_them(
    tmp_path: Path, content: bytes, kind: str
) -> None:
    path = tmp_path / "weights.npz"
    path.write_bytes(content)
    with pytest.raises(PluginError, match=f"is not an .npz file but {kind}"):
        load_arrays(path)
    with pytest.raises(PluginError, match=f"is not an ONNX model but {kind}"):
        load_onnx(path)


def test_a_model_is_read_whole_if_it_is_not_too_large(tmp_path: Path) -> None:
    line = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [line], [line])
    path = tmp_path / "model.onnx"
    path.write_bytes(helper.make_model(graph).SerializeToString())
    assert load_onnx(path) == path.read_bytes()
    with pytest.raises(PluginError, match="more than the 10 allowed"):
        load_onnx(path, max_bytes=10)


@pytest.mark.parametrize("load", [load_arrays, load_onnx])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, load: Any) -> None:  # noqa: ANN401 - either of the two
    with pytest.raises(PluginError, match=r"cannot read the weights .*none: No such file"):
        load(tmp_path / "none")


def test_a_disk_that_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"\x08\x0a")

    class Failing(io.BufferedReader):
        def read(self, size: int | None = -1, /) -> bytes:
            if size == 8:
                return super().read(size)
            raise OSError(5, "the disk fails")

    def open_failing(path: Path) -> Failing:
        return Failing(io.FileIO(path))

    monkeypatch.setattr("arena_plugins.weights.open_regular", open_failing)
    with pytest.raises(PluginError, match=r"cannot be read: .*the disk fails"):
        load_onnx(path)
