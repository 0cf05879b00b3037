"""An e-mail provider of our own, for development, the demo and tests: a real HTTP server with an
inbox page and fault switches. Needs neither Django nor a database."""

from deliveries.sandbox.provider import SandboxProvider
from deliveries.sandbox.shelves import StoreError
from deliveries.sandbox.switches import InvalidSwitch
from deliveries.sandbox.webhooks import Webhooks

__all__ = ["InvalidSwitch", "SandboxProvider", "StoreError", "Webhooks"]
