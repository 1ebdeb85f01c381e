"""erfc(αr)/r and its derivative, for the price of one exponential.

    erfc(x) = e^(−x²) E(x),    E(x) ≈ polynomial in 1/(x + 2.5)

E(x) = e^(x²) erfc(x) is smooth, so a Chebyshev fit over 0 ≤ x ≤ 7 with 19 coefficients is exact to
2·10⁻¹⁵, and one with 11 to 5·10⁻¹⁰; beyond x = 7 the exponential is below 10⁻²¹. The derivatives
need the same exponential:

    d/ds erfc(α√s)/√s = −[erfc(α√s)/√s + 2α/√π e^(−α²s)] / 2s
    d/dα erfc(α√s)/√s = −2/√π e^(−α²s)
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.polynomial import chebyshev

__all__ = ["error_function_over_distance", "screened_inverse"]

_SHIFT, _LAST = 2.5, 7.0
_DEGREES = {np.dtype(np.float64): 18, np.dtype(np.float32): 10}


@functools.cache
def _fit(degree: int) -> tuple[float, float, tuple[float, ...]]:
    """a, b and the coefficients of a polynomial in a + b/(x + shift), constant first."""
    far, near = 1 / (_LAST + _SHIFT), 1 / _SHIFT  # 1/(x + shift) at both ends
    slope = 2 / (near - far)
    offset = -1 - slope * far
    nodes = np.cos((np.arange(degree + 1) + 0.5) * math.pi / (degree + 1))
    x = slope / (nodes - offset) - _SHIFT
    values = [math.exp(v * v) * math.erfc(v) for v in x]
    fitted = np.linalg.solve(chebyshev.chebvander(nodes, degree), values)
    return offset, slope, tuple(chebyshev.cheb2poly(fitted).tolist())


def _scaled(x: Array) -> Array:
    """e^(x²) erfc(x) for x ≥ 0."""
    offset, slope, coefficients = _fit(_DEGREES.get(np.dtype(x.dtype), 18))
    place = offset + slope / (x + _SHIFT)
    value = jnp.full_like(place, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = value * place + coefficient
    return value


@jax.custom_jvp
def screened_inverse(alpha: Array, squared: Array) -> Array:
    """erfc(αr)/r (1/Å) at the squared distance s = r² (Å²), for α ≥ 0 (1/Å)."""
    r = jnp.sqrt(squared)
    return jnp.exp(-alpha * alpha * squared) * _scaled(alpha * r) / r


@screened_inverse.defjvp
def _slope(primals: tuple[Any, Any], tangents: tuple[Any, Any]) -> tuple[Array, Array]:
    alpha, squared = primals
    by_alpha, by_squared = tangents
    r = jnp.sqrt(squared)
    gauss = jnp.exp(-alpha * alpha * squared)
    value = gauss * _scaled(alpha * r) / r
    gauss = 2 / math.sqrt(math.pi) * gauss
    slope = -(value + alpha * gauss) / (2 * squared)
    return value, slope * by_squared - gauss * by_alpha


def error_function_over_distance(alpha: Array, squared: Array) -> Array:
    """erf(αr)/r (1/Å) at s = r² (Å²); smooth down to r = 0, where it is 2α/√π.

    Below αr = ½ from its series (2α/√π) Σ (−α²s)ⁿ / n!(2n + 1), which has no square root.
    """
    x = alpha * alpha * squared
    small = x < 0.25
    inside = jnp.where(small, x, 0.25)
    series = jnp.full_like(inside, 1 / (math.factorial(12) * 25))
    for n in range(11, -1, -1):
        series = (-1) ** n / (math.factorial(n) * (2 * n + 1)) + series * inside
    outside = jnp.where(small, 1.0, squared)
    far = 1 / jnp.sqrt(outside) - screened_inverse(alpha, outside)
    return jnp.where(small, 2 / math.sqrt(math.pi) * alpha * series, far)
