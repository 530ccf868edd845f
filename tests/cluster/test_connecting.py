"""Names of clusters."""

from __future__ import annotations

import logging

import pytest

from treewright.cluster import ClusterError, cluster_name, connect
from treewright.errors import ConfigError


@pytest.mark.parametrize("name", ["local:0", "local:many", "here", "host:8786:x", ":", "tcp:/x"])
def test_no_clusters(name):
    with pytest.raises(ConfigError) as error:
        cluster_name(name)
    assert "local:4" in str(error.value)


def test_a_cluster_by_its_object(tmp_path, monkeypatch):
    made = "distributed.LocalCluster(1, processes=False, dashboard_address=':0')"
    text = f"import distributed\n\ndef make():\n    return {made}\n"
    (tmp_path / "my_cluster_of_threads.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    log = logging.getLogger("distributed.client")
    with connect("my_cluster_of_threads:make") as client:
        assert client.submit(sum, [1, 2]).result() == 3
        assert not log.isEnabledFor(logging.ERROR)  # it has tracebacks if the scheduler dies
    assert log.isEnabledFor(logging.ERROR)


def test_an_object_that_is_not_there():
    with pytest.raises(ClusterError, match="no_such_module"), connect("no_such_module:cluster"):
        pass


@pytest.mark.parametrize("name", ["math:pi", "os:getcwd"])
def test_an_object_that_is_no_cluster(name):
    with pytest.raises(ClusterError, match=f"{name} is no cluster"), connect(name):
        pass
