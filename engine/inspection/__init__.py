"""What is in a root: entities, grants, memberships, and all that a subject can do on an object.

Start at `lookup.py` (lists), `entity_view.py` (one entity) and `abilities.py` (`can`). `models.py` has their answers.
"""
