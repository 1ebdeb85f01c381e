"""The command `instar`."""
