"""Reading what models wrote: option letters, tokens, normal forms. Pure functions."""
