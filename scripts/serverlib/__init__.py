"""Servers of other versions, for tests."""
