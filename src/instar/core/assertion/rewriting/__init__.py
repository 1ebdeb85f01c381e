"""How checks get out of the transforms that they lie in: programs are rewritten."""
