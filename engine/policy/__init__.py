"""What a policy says: its file format, its names, and its conditions as clauses."""
