"""The trainer works in a process that has used TensorFlow before."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from children import run_child

if TYPE_CHECKING:
    from pathlib import Path

CODE = """
import tensorflow as tf
tf.constant(1)
from arena_bots.keras_wdl.train.model import _frameworks
found, keras = _frameworks()
print(found is tf, keras.backend.backend())
"""


@pytest.mark.slow
def test_tensorflow_may_run_already(tmp_path: Path) -> None:
    done = run_child([sys.executable, "-c", CODE], cwd=tmp_path, deadline=300)
    assert done.stdout.splitlines()[-1] == "True tensorflow"
