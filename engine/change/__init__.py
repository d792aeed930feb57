"""Guarded changes and the log of what was changed."""
