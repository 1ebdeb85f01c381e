"""What is measured in a run, on the fly and afterwards: averages, structure, transport."""

from instar.observables.blocks import (
    BlockAverage,
    autocorrelation_time,
    block_average,
    effective_samples,
)
from instar.observables.correlation import Correlation
from instar.observables.diffusion import Diffusion, diffusion, green_kubo
from instar.observables.entry import OBSERVERS, Observation, observation, observed
from instar.observables.finding import Curve, Finding, Value
from instar.observables.kinetic import (
    kinetic_energy,
    kinetic_tensor,
    molecular_kinetic_tensor,
    temperature,
)
from instar.observables.observer import Observer, observe
from instar.observables.pressure import molecular_pressure_tensor, pressure, pressure_tensor
from instar.observables.profile import DensityProfile, Profile
from instar.observables.quantity import Quantity
from instar.observables.radial import Radial, RadialDistribution
from instar.observables.rows import Rows
from instar.observables.running_blocks import RunningBlocks
from instar.observables.selection import ObserverError
from instar.observables.series import Series
from instar.observables.trajectory import mean_square_displacement, velocity_autocorrelation

__all__ = [
    "OBSERVERS",
    "BlockAverage",
    "Correlation",
    "Curve",
    "DensityProfile",
    "Diffusion",
    "Finding",
    "Observation",
    "Observer",
    "ObserverError",
    "Profile",
    "Quantity",
    "Radial",
    "RadialDistribution",
    "Rows",
    "RunningBlocks",
    "Series",
    "Value",
    "autocorrelation_time",
    "block_average",
    "diffusion",
    "effective_samples",
    "green_kubo",
    "kinetic_energy",
    "kinetic_tensor",
    "mean_square_displacement",
    "molecular_kinetic_tensor",
    "molecular_pressure_tensor",
    "observation",
    "observe",
    "observed",
    "pressure",
    "pressure_tensor",
    "temperature",
    "velocity_autocorrelation",
]
