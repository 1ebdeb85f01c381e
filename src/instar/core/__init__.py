"""The foundation, without physics: nothing here knows what an atom is."""
