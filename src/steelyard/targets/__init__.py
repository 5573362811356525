"""Systems under test: a prompt, an endpoint, a baseline, stored outputs."""
