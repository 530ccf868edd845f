"""Entry points of installed packages."""

import pytest

from treewright.errors import ConfigError
from treewright.plugins import load_plugin, plugins


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package, as far as Python's metadata can tell."""
    info = tmp_path / "example-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: example\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[treewright.systems]\nhalf = example_module:HALF\nlost = example_module:LOST\n"
    )
    (tmp_path / "example_module.py").write_text("HALF = 0.5\n")
    monkeypatch.syspath_prepend(str(tmp_path))


def test_a_plugin_is_found_by_its_name(package):
    assert {"half", "lost"} <= set(plugins("systems"))
    assert load_plugin("systems", "half") == 0.5


def test_a_plugin_that_is_not_declared_or_not_importable_is_named(package):
    with pytest.raises(ConfigError, match=r"'quarter'.*treewright\.systems"):
        load_plugin("systems", "quarter")
    with pytest.raises(ConfigError, match=r"'lost'.*example.*LOST"):
        load_plugin("systems", "lost")
