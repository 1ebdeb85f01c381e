"""What is measured in a run, on the fly and afterwards: averages, structure, transport."""

from instar.observables.blocks import (
    BlockAverage,
    autocorrelation_time,
    block_average,
    effective_samples,
)
from instar.observables.correlation import Correlation
from instar.observables.diffusion import Diffusion, diffusion, green_kubo
from instar.observables.kinetic import (
    kinetic_energy,
    kinetic_tensor,
    molecular_kinetic_tensor,
    temperature,
)
from instar.observables.observer import Observer, observe
from instar.observables.pressure import molecular_pressure_tensor, pressure, pressure_tensor
from instar.observables.radial import Radial, RadialDistribution
from instar.observables.running_blocks import RunningBlocks
from instar.observables.selection import ObserverError
from instar.observables.series import Series
from instar.observables.trajectory import mean_square_displacement, velocity_autocorrelation

__all__ = [
    "BlockAverage",
    "Correlation",
    "Diffusion",
    "Observer",
    "ObserverError",
    "Radial",
    "RadialDistribution",
    "RunningBlocks",
    "Series",
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
    "observe",
    "pressure",
    "pressure_tensor",
    "temperature",
    "velocity_autocorrelation",
]
