"""The command line: `grantpath`."""
