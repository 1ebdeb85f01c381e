"""A pair potential, a thermostat and an export format: one file each."""
