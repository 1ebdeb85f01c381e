"""The doors: what users call from Python."""
