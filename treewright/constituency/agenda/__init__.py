"""Agenda parsing: the agenda, its priorities, heuristics, and learned policies."""
