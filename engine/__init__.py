"""grantpath.engine"""

if __name__ != "grantpath.engine":
    raise ImportError("import grantpath.engine, not engine")
