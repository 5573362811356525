"""Two or more runs, sample by sample: differences, their intervals and what explains them."""
