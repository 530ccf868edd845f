"""Work on several machines with Dask: experiments, parsing by shards, training by parameter mixing.

It needs the package ``distributed``: ``pip install 'treewright[cluster]'``.
"""

from treewright.cluster.connecting import ClusterError, cluster_name, connect
from treewright.cluster.executor import DaskExecutor
from treewright.cluster.training import DaskShards

__all__ = ["ClusterError", "DaskExecutor", "DaskShards", "cluster_name", "connect"]
