"""The command line: `grantpath`.

Start at `main.py`, which registers the commands; `context.py` defines the options that all of them share.
"""
