"""How close is a predicted table to the wanted one? The metrics of QATCH, and code written for its API runs here."""
