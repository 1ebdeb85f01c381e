"""Constants of nature (CODATA 2018) in the units that instar computes with: eV, Å, amu, e, K."""

__all__ = ["BOLTZMANN", "COULOMB_CONSTANT"]

BOLTZMANN = 8.617333262145179e-5
"""k_B in eV/K."""

COULOMB_CONSTANT = 14.39964547842567
"""kₑ = 1/4πε₀ in eV·Å/e²."""
