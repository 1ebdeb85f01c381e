"""Steps of states made of tables: what they all share, and one folder per kind of dynamics.

    (key, state) -> state

A step is made of parts (`Part`, `step_of`), has knobs (`knob`, `Ramp`), draws random numbers from
the stream of each system (`normals`, …), freezes systems that explode (`explosions`), and is looked
at by observers (`Watch`, `Observing`). All of that holds for any `DynamicState`.
"""

from instar.dynamics.containment import Explosion, chosen, contained, explosions
from instar.dynamics.knobs import Ramp, knob
from instar.dynamics.observing import Observing, Schedule, Watch, observing, place_of
from instar.dynamics.part import Part, Step, step_of
from instar.dynamics.simulate import ExplosionWarning, simulate
from instar.dynamics.state import DynamicState
from instar.dynamics.streams import normals, system_normals, system_uniforms

__all__ = [
    "DynamicState",
    "Explosion",
    "ExplosionWarning",
    "Observing",
    "Part",
    "Ramp",
    "Schedule",
    "Step",
    "Watch",
    "chosen",
    "contained",
    "explosions",
    "knob",
    "normals",
    "observing",
    "place_of",
    "simulate",
    "step_of",
    "system_normals",
    "system_uniforms",
]
