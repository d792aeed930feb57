"""Replaces the text of queries temporarily, for controls: the errors that the real text prevents must then occur."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from grantpath import cypher


def other_texts(patch: pytest.MonkeyPatch, texts: Mapping[str, str]) -> None:
    """Sends these queries, by their base names, with these texts from now on; the parameters are unchanged."""
    load = cypher.load
    given = {name: replace(load(name), text=text) for name, text in texts.items()}
    patch.setattr(cypher, "load", lambda name: given.get(name) or load(name))
