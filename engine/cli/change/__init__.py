"""The commands that change a root, and those that plan and apply a change."""
