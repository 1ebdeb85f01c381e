"""`Contract`: the shape that a state function declares.

ContractError(ValueError)    parts that do not fit together
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

__all__ = ["Contract", "ContractError", "merged"]


class ContractError(ValueError):
    """Parts of an expression, or an expression and a sample, do not fit together."""


@dataclasses.dataclass(frozen=True)
class Contract:
    """What a function returns for one sample: ``(P,)*pdepth + (dim,)*rank + (n_features,)``.

    ``on_particles`` tells whether it reads samples with particles (True), a bare point (False),
    or nothing at all (None).
    """

    rank: int = 0
    dim: int | None = None
    pdepth: int = 0
    n_features: int = 1
    on_particles: bool | None = None

    def __post_init__(self) -> None:
        for name in ("rank", "pdepth"):
            if getattr(self, name) < 0:
                raise ContractError(f"{name} is 0 or more, not {getattr(self, name)}.")
        if self.n_features < 1:
            raise ContractError(f"A function has one feature or more, not {self.n_features}.")
        if self.rank > 0 and not self.dim:
            raise ContractError(
                f"A function of rank {self.rank} needs dim, the dimension of space."
            )

    def but(self, **changes: Any) -> Contract:
        """The same contract with some parts changed."""
        return dataclasses.replace(self, **changes)

    @property
    def components(self) -> tuple[int, ...]:
        """Shape of what there is per particle: ``(dim,)*rank + (n_features,)``."""
        return (self.dim or 1,) * self.rank + (self.n_features,)

    def __str__(self) -> str:
        return (
            f"rank={self.rank}, dim={self.dim}, pdepth={self.pdepth}, n_features={self.n_features}"
        )


def merged(what: str, functions: Sequence[Any], **parts: Any) -> Contract:
    """The contract of a node ``what`` over functions in one space, with the given parts.

    Without them, ``pdepth`` is that of the deepest function.
    """
    if not functions:
        raise ContractError(f"{what} takes at least one function.")
    return Contract(
        **{
            "dim": _common(f"{what} takes functions in one space, but dim is", functions, "dim"),
            "pdepth": max(f.pdepth for f in functions),
            "on_particles": _common(
                f"{what} takes functions of particles (True) or of a bare point (False), but it is",
                functions,
                "on_particles",
            ),
            **parts,
        }
    )


def _common(complaint: str, functions: Sequence[Any], name: str) -> Any:
    """The value of an attribute that all functions agree on; None agrees with any."""
    known = {f: getattr(f.contract, name) for f in functions}
    values = set(known.values()) - {None}
    if len(values) > 1:
        found = ", ".join(f"{v} for {f.formula()}" for f, v in known.items() if v is not None)
        raise ContractError(f"{complaint} {found}.")
    return values.pop() if values else None
