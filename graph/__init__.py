"""What is stored: the server, its connections, guarded reads and writes, and the texts of references and statements."""

import logging

if __name__ != "grantpath.graph":
    raise ImportError("import grantpath.graph, not graph")

# Nothing is printed, and Python does not print warnings itself, unless the program configures logging.
logging.getLogger("grantpath").addHandler(logging.NullHandler())
