"""What a run is to do: read from a file, validated whole before anything is compiled."""

from instar.app.config.load import Loaded, load
from instar.app.config.potentials import Trust
from instar.app.config.schema import Config

__all__ = ["Config", "Loaded", "Trust", "load"]
