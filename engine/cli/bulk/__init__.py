"""The commands for many rows: loads, mirrors, and bulk answers of Spark."""
