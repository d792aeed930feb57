"""Storage: the server, its connections, guarded reads and writes, and the texts of references and statements.

Start at `guard/store.py` for reading, and at `guard/revision_guard.py` for writing.
"""

import logging

if __name__ != "grantpath.graph":
    raise ImportError("import grantpath.graph, not graph")

# Without a handler Python would print warnings itself; a program that wants them configures logging.
logging.getLogger("grantpath").addHandler(logging.NullHandler())
