"""The tables of a snapshot for others: views, Delta, Iceberg."""
