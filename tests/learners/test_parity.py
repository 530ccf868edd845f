from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.toys import fingerprints

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = "import json; from tests.toys import fingerprints; print(json.dumps(fingerprints()))"


@pytest.mark.jit
def test_compiled_and_interpreted_training_agree_to_the_bit():
    interpreter = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    compiled = fingerprints()
    output, _ = interpreter.communicate(timeout=120)
    assert interpreter.returncode == 0
    assert json.loads(output) == compiled
