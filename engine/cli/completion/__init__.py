"""Completion for bash and zsh."""
