"""The toy plug-in is registered for tests that ask for `toys`."""

from tests.toy_plugin import folder, toys

__all__ = ["folder", "toys"]
