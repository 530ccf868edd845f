"""What the README and the documentation print works as printed."""

import contextlib
import io
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.jit
def test_the_five_lines_of_the_readme_work_as_printed():
    code = re.search(r"```python\n(from treewright import .*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[1]
    assert len([line for line in code.splitlines() if line.strip()]) <= 5
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "README.md", "exec"), {})
    accuracy, *labels = out.getvalue().split()
    assert float(accuracy.rstrip("%")) > 95
    assert labels == ["PRON", "AUX", "VERB", "DET", "NOUN"]


def test_the_picture_is_what_its_script_draws():
    script = runpy.run_path(str(ROOT / "docs" / "images" / "draw.py"))
    assert script["OUT"].read_text(encoding="utf-8") == script["picture"]()


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))])
def test_links_lead_to_files(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        assert ((ROOT / page).parent / target).exists(), target


def test_importing_the_package_does_not_import_numba():
    code = "import sys, treewright; sys.exit('numba' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.jit
@pytest.mark.parametrize(
    ("example", "printed"),
    [
        ("segmentation", "she wants to buy the new book ."),
        pytest.param("covington", "RIGHTARC_nmod", marks=pytest.mark.slow),
    ],
)
def test_the_examples_run(example, printed):
    command = [sys.executable, str(ROOT / "examples" / f"{example}.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "keeps its contract" in done.stdout
    assert printed in done.stdout


def test_the_drawing_of_the_architecture_has_every_package_of_the_contract_in_its_layer():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    layers = [layer.split(" | ") for layer in contract["layers"] if layer != "__main__"]
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    bands = re.split(r"\n[├└].*\n?", re.search(r"```text\n┌.*\n(│[^`]*)```", page)[1])[:-1]
    drawn = [[cell.split()[0] for cell in band.splitlines()[0].split("│") if cell.strip()] for band in bands]
    assert [sorted(names) for names in drawn] == [sorted(names) for names in layers]
