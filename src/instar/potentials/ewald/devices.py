"""Work that is divided among devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax import lax
from jax.sharding import Mesh, PartitionSpec

__all__ = ["divided"]


def divided(
    fn: Callable[[Any, Any], Any], split: Any, shared: Any, devices: Mesh | None, *, add: bool
) -> Any:
    """``fn(split, shared)``, each device taking a share of the leading axis of ``split``.

    With ``add`` the results of all devices are added up, else they are put together.
    """
    if devices is None:
        return fn(split, shared)
    names = devices.axis_names

    def each(split: Any, shared: Any) -> Any:
        result = fn(split, shared)
        return lax.psum(result, names) if add else result

    apart, copied = PartitionSpec(names), PartitionSpec()
    return jax.shard_map(
        each,
        mesh=devices,
        in_specs=(apart, copied),
        out_specs=copied if add else apart,
        check_vma=False,
    )(split, shared)
