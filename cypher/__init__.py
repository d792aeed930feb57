"""grantpath.cypher"""

if __name__ != "grantpath.cypher":
    raise ImportError("import grantpath.cypher, not cypher")
