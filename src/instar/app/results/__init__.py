"""What a run has found: read back, averaged, exported."""
