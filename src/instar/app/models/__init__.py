"""Configurations as validated models: what may stand in a file, one kind a module."""
