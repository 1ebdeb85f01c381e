"""A configuration becomes a run: build, plan, advance, record, checkpoint."""
