"""The HTML report about a snapshot. Start at `report_page.py`."""
