"""Reading what a model said: one small grammar, and a reader for each kind of answer."""
