"""Trainings with TensorFlow, scikit-learn and datasets: what ED401 reports makes runs differ, and the way out ends that.

These libraries are large, so that `.ci/nightly` installs them and not every run does.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from support import scan_json

pytestmark = pytest.mark.nightly


@dataclass(frozen=True)
class Fault:
    """A training as it is and put right, the library it needs, and the line of the first that is reported."""

    library: str
    wrong: str
    right: str
    line: int


KERAS = """
import tensorflow as tf
{seed}
net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
net.compile(optimizer="sgd", loss="mse")
net.fit(tf.ones((8, 4)), tf.ones((8, 1)), epochs=1, verbose=0)
print(net.get_weights()[0].tolist())
"""
TAPE = """
import tensorflow as tf
{seed}
w = tf.Variable(tf.random.normal((4,)))
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(w * w)
print(tape.gradient(loss, w).numpy().tolist())
"""
SCIKIT = """
import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import train_test_split

x = np.arange(400.0).reshape(100, 4) % 7
y = np.arange(100) % 2
{split}
model = SGDClassifier(random_state=1)
model.fit(a, c)
print(model.coef_.tolist())
"""
DATASETS = """
import datasets
import torch

torch.manual_seed(1)
rows = datasets.Dataset.from_dict({{"x": [float(i) for i in range(100)]}})
order = rows.shuffle({seed})
net = torch.nn.Linear(4, 1)
net(torch.tensor(order["x"][:4])).sum().backward()
print(net.weight.grad.tolist())
"""
SPLIT = "a, b, c, d = train_test_split(x, y{})"
FAULTS = {
    "Keras without a seed": Fault(
        "tensorflow", KERAS.format(seed=""), KERAS.format(seed="tf.keras.utils.set_random_seed(1)"), 3,
    ),
    "layers of Keras with TensorFlow's seed": Fault(
        "tensorflow", KERAS.format(seed="tf.random.set_seed(1)"),
        KERAS.format(seed="tf.random.set_seed(1); import random; random.seed(1)"), 3,
    ),
    "random.normal without a seed": Fault(
        "tensorflow", TAPE.format(seed=""), TAPE.format(seed="tf.random.set_seed(1)"), 3,
    ),
    "a seed from the clock": Fault(
        "tensorflow", TAPE.format(seed="import time; tf.random.set_seed(time.time_ns() % 2**31)"),
        TAPE.format(seed="tf.random.set_seed(1)"), 2,
    ),
    "a split without random_state": Fault(
        "sklearn", SCIKIT.format(split=SPLIT.format("")), SCIKIT.format(split=SPLIT.format(", random_state=1")), 7,
    ),
    "datasets shuffled without a seed": Fault("datasets", DATASETS.format(seed=""), DATASETS.format(seed="seed=1"), 6),
}  # fmt: skip


def printed(paths: Sequence[Path]) -> list[str]:
    """What several programs print, one after another: these libraries take all cores."""
    quiet = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    runs = [
        subprocess.run([sys.executable, str(p)], capture_output=True, text=True, check=True, env=quiet) for p in paths
    ]
    return [run.stdout.splitlines()[-1] for run in runs]


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_two_runs(fault: Fault, tmp_path: Path) -> None:
    pytest.importorskip(fault.library, reason="not installed; .ci/nightly installs it")
    wrong, right = tmp_path / "wrong.py", tmp_path / "right.py"
    wrong.write_text(fault.wrong.lstrip(), encoding="utf-8")
    right.write_text(fault.right.lstrip(), encoding="utf-8")
    first, second, third, fourth = printed((wrong, wrong, right, right))
    assert first != second
    assert third == fourth


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_scan(fault: Fault, tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(fault.wrong.lstrip(), encoding="utf-8")
    (tmp_path / "right.py").write_text(fault.right.lstrip(), encoding="utf-8")
    found = scan_json(tmp_path, "--select", "ED401", "--target", "tensorflow-2.21.0")["findings"]
    assert [(f["path"], f["line"]) for f in found] == [("wrong.py", fault.line)]
