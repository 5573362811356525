"""The stores of these tests: a file, and a schema on a real PostgreSQL server."""

from tests.store.conftest import _filled, filled, on_server, schema, server, shared, where  # noqa: F401  # fixtures
