"""The commands that ask questions and show what is in a root."""
