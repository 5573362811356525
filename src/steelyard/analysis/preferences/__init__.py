"""Which of two targets a judge preferred: win rates, and standings of several."""
