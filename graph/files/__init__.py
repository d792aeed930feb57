"""Files and folders, local or in an object store: private files, and Parquet files that may be hostile."""
