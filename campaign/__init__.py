"""The reliability campaign: tests of Treewright with damaged files, killed processes and faulty machines."""
