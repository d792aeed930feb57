"""Scenario files: the tests that policy authors write.

Start at `runner.py`; `scenario_file.py` defines the format.
"""
