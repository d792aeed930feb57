"""Folders of snapshots that are complete or absent, local or in an object store."""
