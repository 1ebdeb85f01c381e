"""ASE on both sides: its structures as tables, its calculators as potentials."""
