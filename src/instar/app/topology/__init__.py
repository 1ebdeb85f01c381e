"""Topologies that users have, read into structures and potentials of a configuration."""

from instar.app.topology.base import Topology, TopologyError
from instar.app.topology.combine import combined_topologies
from instar.app.topology.read import read_topology

__all__ = ["Topology", "TopologyError", "combined_topologies", "read_topology"]
