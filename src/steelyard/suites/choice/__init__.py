"""Multiple-choice benchmarks: questions from sheets, answers read from replies, solve rates compared."""
