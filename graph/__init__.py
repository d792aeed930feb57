"""grantpath.graph"""

if __name__ != "grantpath.graph":
    raise ImportError("import grantpath.graph, not graph")
