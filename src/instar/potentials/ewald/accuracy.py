"""How large the error of an Ewald sum is, and the settings that keep a promise.

Errors are rms forces in units of kₑe²/Å², for charges that don't know of each other, with
Q = Σq² of N particles in the volume V:

    real space, cut at R     δ² = 4Q²/(NVR) e^(−2α²R²)
    waves, cut at K          δ² = 8Q²α²/(NVK) e^(−K²/2α²)
    mesh, spacing h          δ² = 8Q²α/(NV) g_p(αh)²

The first two are from Kolafa and Perram, Mol. Simul. 9, 351 (1992). The third follows from what
B-splines of order p make of a wave k (Essmann et al., J. Chem. Phys. 103, 8577 (1995)): with it
come its aliases k + 2πm/h, weighted by t_m = (k/(k + 2πm/h))^p for each axis, so that

    g_p(αh)² = ∫ dy e^(−y²/2) ⟨Σ_m t_m² (|k + 2πm/h|² + |k|²)/k² + (2 Σ_m t_m)²⟩,  k = αy

with the mean over directions. Aliases enter the force once where it is read from the mesh, and
once where charges are spread onto it. What a charge does to itself through the mesh is not random;
for every order and spacing it was seen to double δ², so g_p² is taken twice.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "ORDERS",
    "Content",
    "alpha_for",
    "limit_for",
    "mesh_error",
    "real_error",
    "skewness",
    "spacing_for",
    "wave_error",
]

ORDERS = (4, 6, 8)
"""Orders of the splines: even ones, whose interpolation has an inverse for every wave."""


class Content(NamedTuple):
    """What the error of a system depends on, one entry a system."""

    count: Any  # particles
    squares: Any  # Σ q², e²
    volume: Any  # Å³

    @property
    def strength(self) -> Any:
        """Q²/NV, zero where there is nothing (e⁴/Å³)."""
        return self.squares**2 / (self.count.clip(1.0) * self.volume)


def real_error(content: Content, alpha: Any, cutoff: Any, module: Any = np) -> Any:
    """The error of leaving out pairs further apart than ``cutoff`` (Å)."""
    return module.sqrt(4 * content.strength / cutoff) * module.exp(-((alpha * cutoff) ** 2))


def wave_error(content: Content, alpha: Any, limit: Any, module: Any = np) -> Any:
    """The error of leaving out waves with |k| above ``limit`` (1/Å)."""
    size = module.sqrt(8 * content.strength / limit) * alpha
    return size * module.exp(-((limit / alpha / 2) ** 2))


def skewness(vectors: Any, module: Any = np) -> Any:
    """The largest ratio of an edge to its height: one for a cell with right angles."""
    edges = module.sqrt(module.sum(vectors**2, axis=-1))
    heights = 1 / module.sqrt(module.sum(module.linalg.inv(vectors) ** 2, axis=-2))
    return module.max(edges / heights, axis=-1)


def mesh_error(content: Content, alpha: Any, spacing: Any, order: int, module: Any = np) -> Any:
    """The error of a mesh with points ``spacing`` apart (Å), splines of that order.

    For right angles; in a skewed cell aliases are further away, and so is the error larger, at
    most by the `skewness`.
    """
    places, values = (table.astype(alpha.dtype) for table in _aliasing(order))
    size = module.sqrt(8 * content.strength * alpha)
    return size * module.exp(module.interp(module.log(alpha * spacing), places, values))


def alpha_for(content: Content, cutoff: Any, error: float) -> Any:
    """α (1/Å) at which the real-space sum has that error."""
    ratio = np.sqrt(4 * content.strength / cutoff) / error
    return np.sqrt(np.maximum(np.log(np.maximum(ratio, 1)), 0.5)) / cutoff


def limit_for(content: Content, alpha: Any, error: float) -> Any:
    """|k| (1/Å) up to which waves are needed for that error, by bisection."""
    low, high = 0.5 * alpha, 20.0 * alpha
    for _ in range(60):
        middle = (low + high) / 2
        enough = wave_error(content, alpha, middle) <= error
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


def spacing_for(content: Content, alpha: Any, order: int, error: Any) -> Any:
    """The distance of mesh points (Å) that has that error."""
    places, values = _aliasing(order)
    size = np.sqrt(8 * content.strength * alpha)
    with np.errstate(divide="ignore"):
        wanted = np.log(error / size)
    return np.exp(np.interp(wanted, values, places)) / alpha


@functools.cache
def _aliasing(order: int) -> tuple[np.ndarray, np.ndarray]:
    """ln g_p over ln αh, both rising."""
    steps = np.geomspace(0.02, 1.6, 40)
    y, y_weights = _quadrature(0.0, 9.0, 36)
    cosine, cosine_weights = _quadrature(0.0, 1.0, 8)
    angle, angle_weights = _quadrature(0.0, math.pi / 2, 8)
    sine = np.sqrt(1 - cosine**2)
    directions = np.stack(
        [
            sine[:, None] * np.cos(angle),
            sine[:, None] * np.sin(angle),
            np.broadcast_to(cosine[:, None], (8, 8)),
        ]
    )
    weights = cosine_weights[:, None] * angle_weights * (2 / math.pi)
    values = []
    for step in steps:
        wave = y[:, None, None, None] * step / (2 * math.pi) * directions.transpose(1, 2, 0)
        inside = (np.abs(wave) < 0.5).all(axis=-1)
        errors = _relative_error(np.where(inside[..., None], wave, 0.25), order)
        mean = np.sum(weights * np.where(inside, errors, 1.0), axis=(1, 2))
        values.append(math.log(2 * np.sum(y_weights * np.exp(-(y**2) / 2) * mean)) / 2)
    return np.log(steps), np.array(values)


def _relative_error(wave: np.ndarray, order: int) -> np.ndarray:
    """The square of the relative error of a wave's force; ``wave`` (..., 3) in units of 2π/h."""
    squared = np.sum(wave**2, axis=-1)
    error, bias = np.zeros_like(squared), np.zeros_like(squared)
    for axis in range(3):
        along = wave[..., axis]
        for alias in (-3, -2, -1, 1, 2, 3):
            weight = (along / (along + alias)) ** order
            other = squared + 2 * alias * along + alias**2
            error = error + weight**2 * (other / squared + 1)
            bias = bias + weight
    return error + (2 * bias) ** 2


def _quadrature(low: float, high: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return low + (high - low) * (nodes + 1) / 2, weights * (high - low) / 2
