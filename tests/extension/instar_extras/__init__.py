"""A pair potential, a thermostat, an observer and an export format: one file each."""
