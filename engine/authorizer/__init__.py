"""The public methods: `Authorizer`, and `AsyncAuthorizer` for event loops.

Start at `authorizer.py`.
"""
