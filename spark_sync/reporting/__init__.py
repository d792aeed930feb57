"""The HTML report about a snapshot. Start at `report_page.py`; the page is in `templates/`."""

from grantpath.graph.extras import require_extra

require_extra("review", "the report")
