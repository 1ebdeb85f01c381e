"""Propagators of physical states: molecular dynamics."""
