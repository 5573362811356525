"""Things that answer messages, and the limits that every call passes."""
