"""Gives queries another text for a while, for controls: what the true text prevents must be seen without it."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from grantpath import cypher


def other_texts(patch: pytest.MonkeyPatch, texts: Mapping[str, str]) -> None:
    """From now on these queries, by their base names, are sent with these texts; their parameters stay the same."""
    load = cypher.load
    given = {name: replace(load(name), text=text) for name, text in texts.items()}
    patch.setattr(cypher, "load", lambda name: given.get(name) or load(name))
