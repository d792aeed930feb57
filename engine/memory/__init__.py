"""A whole root in memory, without a server, for tests of programs. Start at `memory_authorizer.py`."""

from grantpath.graph.extras import require_extra

require_extra("replica", "an authorizer in memory")
