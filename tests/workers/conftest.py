"""A PostgreSQL store for each test, and the command line on an exam whose endpoint keeps a ledger."""

from tests.store.conftest import on_server, schema, server  # noqa: F401  # fixtures
from tests.workers.private_server import private_server  # noqa: F401  # a fixture
