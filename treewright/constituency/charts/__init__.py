"""Exact charts: recurrences, derivations, k best, passes over corpora, and the planner."""
