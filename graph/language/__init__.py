"""References, statements and near names: the texts that enter and leave. No other package parses them."""
