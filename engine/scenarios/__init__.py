"""Scenario files: the tests that policy authors write."""
