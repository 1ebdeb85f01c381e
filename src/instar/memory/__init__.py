"""Memory, planned ahead: what a program takes, what there is, and batches that fit."""

from instar.memory.amounts import parse_amount, show
from instar.memory.batches import Batch, Plan, Shape
from instar.memory.budget import HEADROOM, Budget, BudgetError, find_budget
from instar.memory.calibrate import calibrate
from instar.memory.footprint import Footprint
from instar.memory.frames import FrameError
from instar.memory.need import Need, Programs, need_of
from instar.memory.over_frames import Evaluated, Watcher, over_frames
from instar.memory.peak import HighWater
from instar.memory.plan import MemoryPlanError, plan
from instar.memory.run import Event, Outcome, OutOfMemoryError, run
from instar.memory.work import Work, plan_work, programs_of

__all__ = [
    "HEADROOM",
    "Batch",
    "Budget",
    "BudgetError",
    "Evaluated",
    "Event",
    "Footprint",
    "FrameError",
    "HighWater",
    "MemoryPlanError",
    "Need",
    "OutOfMemoryError",
    "Outcome",
    "Plan",
    "Programs",
    "Shape",
    "Watcher",
    "Work",
    "calibrate",
    "find_budget",
    "need_of",
    "over_frames",
    "parse_amount",
    "plan",
    "plan_work",
    "programs_of",
    "run",
    "show",
]
