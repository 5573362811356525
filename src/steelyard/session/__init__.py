"""What is open while a run runs: connections, gates, budget, journal; and Ask, the one way to a model."""
