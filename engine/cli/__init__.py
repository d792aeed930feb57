"""The command line: `grantpath`.

Start at `main.py`, which registers the commands; `context.py` has the options that all of them take.
"""
