"""Parsing a large corpus by shards: files, each written by one worker and then joined in order."""
