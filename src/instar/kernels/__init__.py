"""Compiled kernels for the CPU, which stand in for JAX code that computes the same.

Each is called where JAX lowers for a CPU, if its library was built and loads; everywhere else, and
for derivatives, the JAX code is used. ``INSTAR_KERNELS=off`` in the environment, or
``with instar.kernels.using(False)``, leaves them out.
"""

from instar.kernels.library import Status, in_use, status, using

__all__ = ["Status", "in_use", "status", "using"]
