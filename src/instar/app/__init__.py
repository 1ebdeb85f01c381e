"""What users call: the only room that reads structures and configurations, and prints."""
