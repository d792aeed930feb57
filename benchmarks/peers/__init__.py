"""Other authorization systems beside grantpath: each loads the same estate and answers the same questions."""
