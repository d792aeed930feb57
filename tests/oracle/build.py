"""Finds the oracle of a policy by its name."""

from .base import Oracle
from .cdap import Cdap
from .cdap_design import CdapDesign
from .deltastream import DeltaStream
from .gravitino import Gravitino
from .lakehouse import Lakehouse
from .lakehouse_nested import LakehouseNested
from .onehouse import Onehouse

POLICIES: dict[str, type[Oracle]] = {
    each.policy: each for each in (Gravitino, Lakehouse, LakehouseNested, DeltaStream, Onehouse, Cdap, CdapDesign)
}


def oracle(policy: str, root_name: str) -> Oracle:
    """An empty tenant of that policy."""
    return POLICIES[policy](root_name)
