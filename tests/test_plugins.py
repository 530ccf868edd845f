"""Entry points of installed packages."""

import pytest

from tests.packages import install
from treewright.errors import ConfigError
from treewright.plugins import load_plugin, plugins


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with two transition systems, one of which is missing."""
    systems = {"half": "example_module:HALF", "lost": "example_module:LOST"}
    install(tmp_path, "example", {"systems": systems}, {"example_module": "HALF = 0.5\n"})
    monkeypatch.syspath_prepend(str(tmp_path))


def test_a_plugin_is_found_by_its_name(package):
    assert {"half", "lost"} <= set(plugins("systems"))
    assert load_plugin("systems", "half") == 0.5


def test_a_plugin_that_is_not_declared_or_not_importable_is_named(package):
    with pytest.raises(ConfigError, match=r"'quarter'.*treewright\.systems"):
        load_plugin("systems", "quarter")
    with pytest.raises(ConfigError, match=r"'lost'.*example.*LOST"):
        load_plugin("systems", "lost")


def test_metadata_are_read_once_for_a_search_path(package, monkeypatch, tmp_path):
    found = plugins("systems")
    assert plugins("systems") is found
    (tmp_path / "more").mkdir()
    install(tmp_path / "more", "other", {"systems": {"third": "example_module:HALF"}}, {})
    monkeypatch.syspath_prepend(str(tmp_path / "more"))
    assert set(plugins("systems")) == {*found, "third"}
