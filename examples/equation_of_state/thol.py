"""The equation of state of the Lennard-Jones fluid of Thol and others, in reduced units.

    a/k_BT = Σ n δ^d τ^t exp(−δ^l [l > 0])  +  Σ n δ^d τ^t exp(−η(δ − ε)² − β(τ − γ)²)

is the Helmholtz energy of a particle beyond that of the ideal gas, with δ = ρ*/0.31 and
τ = 1.32/T*. Pressure and energy are its derivatives, taken by JAX.

A fixed number N of atoms does not fluctuate as a part of an infinite fluid does, so that means at
constant volume differ from these by terms of 1/N, which `for_few_atoms` adds:

    p_N = p − ρ²S/2N ∂²p/∂ρ²        u_N = u − ρS/2N ∂²(ρu)/∂ρ²        S = k_BT/(∂p/∂ρ)

J. L. Lebowitz and J. K. Percus, Phys. Rev. 124, 1673 (1961).

M. Thol, G. Rutkai, A. Köster, R. Lustig, R. Span and J. Vrabec, J. Phys. Chem. Ref. Data 45, 023101
(2016); coefficients from its table 2.
"""

import jax
import jax.numpy as jnp
import numpy as np

CRITICAL_TEMPERATURE, CRITICAL_DENSITY = 1.32, 0.31

POWERS = np.array(  # n, t, d, l
    [
        (0.0052080730, 1.000, 4, 0),
        (2.1862520, 0.320, 1, 0),
        (-2.1610160, 0.505, 1, 0),
        (1.4527000, 0.672, 2, 0),
        (-2.0417920, 0.843, 2, 0),
        (0.18695286, 0.898, 3, 0),
        (-0.62086250, 1.205, 1, 1),
        (-0.56883900, 1.786, 1, 2),
        (-0.80055922, 2.770, 3, 2),
        (0.10901431, 1.786, 2, 1),
        (-0.49745610, 2.590, 2, 2),
        (-0.090988445, 1.294, 5, 1),
    ]
)
GAUSSIANS = np.array(  # n, t, d, η, β, γ, ε
    [
        (-1.4667177, 2.830, 1, 2.067, 0.625, 0.710, 0.2053),
        (1.8914690, 2.548, 1, 1.522, 0.638, 0.860, 0.4090),
        (-0.13837010, 4.650, 2, 8.820, 3.910, 1.940, 0.6000),
        (-0.38696450, 1.385, 3, 1.722, 0.156, 1.480, 1.2030),
        (0.12657020, 1.460, 3, 0.679, 0.157, 1.490, 1.8290),
        (0.60578100, 1.351, 2, 1.883, 0.153, 1.945, 1.3970),
        (1.1791890, 0.660, 1, 3.925, 1.160, 3.020, 1.3900),
        (-0.47732679, 1.496, 2, 2.461, 1.730, 1.110, 0.5390),
        (-9.9218575, 1.830, 3, 28.200, 383.0, 1.170, 0.9340),
        (-0.57479320, 1.616, 1, 0.753, 0.112, 1.330, 2.3690),
        (0.0037729230, 4.970, 1, 0.820, 0.119, 0.240, 2.4300),
    ]
)


def helmholtz(tau, delta):
    """a/k_BT beyond the ideal gas."""
    n, t, d, exponent = POWERS.T
    damped = jnp.where(exponent > 0, delta**exponent, 0)
    powers = n * tau**t * delta**d * jnp.exp(-damped)
    n, t, d, eta, beta, gamma, epsilon = GAUSSIANS.T
    bell = jnp.exp(-eta * (delta - epsilon) ** 2 - beta * (tau - gamma) ** 2)
    return jnp.sum(powers) + jnp.sum(n * tau**t * delta**d * bell)


@jax.vmap
def _state(temperature, density):
    tau, delta = CRITICAL_TEMPERATURE / temperature, density / CRITICAL_DENSITY
    by_tau, by_delta = jax.grad(helmholtz, (0, 1))(tau, delta)
    pressure = density * temperature * (1 + delta * by_delta)
    return pressure, temperature * tau * by_tau


def pressure_and_energy(temperature, density):
    """p* and U/N (ε) of states (T*, ρ*), arrays of one shape."""
    given = np.broadcast_arrays(*(np.asarray(x, float) for x in (temperature, density)))
    with jax.enable_x64(True):
        found = _state(*(x.ravel() for x in given))
    return tuple(np.asarray(x).reshape(given[0].shape) for x in found)


def for_few_atoms(temperature, density, atoms):
    """p* and U/N (ε) of so many atoms at constant temperature and volume, to the order 1/N."""
    step = 1e-3
    densities = density + step * np.array([-1.0, 0.0, 1.0]).reshape(-1, *(1,) * np.ndim(density))
    pressure, energy = pressure_and_energy(temperature, densities)
    slope = (pressure[2] - pressure[0]) / (2 * step)
    factor = density * temperature / slope / (2 * atoms)  # ρS/2N
    curvatures = [np.diff(f, 2, axis=0)[0] / step**2 for f in (pressure, densities * energy)]
    return pressure[1] - density * factor * curvatures[0], energy[1] - factor * curvatures[1]
