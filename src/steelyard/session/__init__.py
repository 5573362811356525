"""What is open while runs run: connections, limits, budget, journal; and `Ask`, through which models are called."""
