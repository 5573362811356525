"""Open resources of running runs: connections, limits, budget, journal; and `Ask`, through which models are called."""
