"""Rules on scores, and whether a run keeps them."""
