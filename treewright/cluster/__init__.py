"""Work on several machines with Dask: experiments, parsing by shards, training by parameter mixing.

It needs the package ``distributed``: ``pip install 'treewright[cluster]'``.
"""

from treewright.cluster.connecting import ClusterError, cluster_name, connect
from treewright.cluster.executor import DaskExecutor

__all__ = ["ClusterError", "DaskExecutor", "cluster_name", "connect"]
