"""The tables of a snapshot for others: views, SQL, Delta, Iceberg."""
