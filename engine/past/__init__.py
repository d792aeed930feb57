"""The past of a root: its facts at an earlier revision, and since when a check has its present answer."""
