"""The authorization systems that are measured: each loads the same estate and answers the same questions."""
