"""A whole root in memory, without a server, for tests of programs. Start at `memory_authorizer.py`."""

from grantpath.graph.extras import need_extra

need_extra("replica", "an authorizer in memory")
