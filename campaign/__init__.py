"""The reliability campaign: what happens to Treewright when files, processes and machines misbehave."""
