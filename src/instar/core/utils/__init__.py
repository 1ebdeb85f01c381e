"""What the core itself stands on."""
