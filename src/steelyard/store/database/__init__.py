"""The two databases of a store, their connections, tables and addresses."""
