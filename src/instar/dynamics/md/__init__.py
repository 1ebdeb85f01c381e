"""Molecular dynamics: one method a file, each a step made of parts."""

from instar.core.utils.declaration import Option
from instar.dynamics.containment import Explosion, explosions
from instar.dynamics.knobs import Ramp, knob
from instar.dynamics.md.blocks import begin_blocks, simulate_blocks
from instar.dynamics.md.brownian import brownian
from instar.dynamics.md.cell_rescaling import CellRescaling, cell_rescaling
from instar.dynamics.md.centre import total_mass, without_net_velocity
from instar.dynamics.md.declared import barostat, thermostat
from instar.dynamics.md.forces import Forces, computed
from instar.dynamics.md.langevin import OrnsteinUhlenbeck, langevin, thermal_velocities
from instar.dynamics.md.motion import Drift, Kick
from instar.dynamics.md.mtk import mtk
from instar.dynamics.md.nose_hoover import nose_hoover
from instar.dynamics.md.nve import nve
from instar.dynamics.md.start import start
from instar.dynamics.md.state import Particles, State, Systems
from instar.dynamics.md.thermo import Thermo, thermo
from instar.dynamics.md.velocities import draw_velocities
from instar.dynamics.md.velocity_rescaling import VelocityRescaling, velocity_rescaling
from instar.dynamics.part import Part, Step, step_of
from instar.dynamics.simulate import ExplosionWarning, simulate
from instar.dynamics.streams import normals, system_normals, system_uniforms

__all__ = [
    "CellRescaling",
    "Drift",
    "Explosion",
    "ExplosionWarning",
    "Forces",
    "Kick",
    "Option",
    "OrnsteinUhlenbeck",
    "Part",
    "Particles",
    "Ramp",
    "State",
    "Step",
    "Systems",
    "Thermo",
    "VelocityRescaling",
    "barostat",
    "begin_blocks",
    "brownian",
    "cell_rescaling",
    "computed",
    "draw_velocities",
    "explosions",
    "knob",
    "langevin",
    "mtk",
    "normals",
    "nose_hoover",
    "nve",
    "simulate",
    "simulate_blocks",
    "start",
    "step_of",
    "system_normals",
    "system_uniforms",
    "thermal_velocities",
    "thermo",
    "thermostat",
    "total_mass",
    "velocity_rescaling",
    "without_net_velocity",
]
