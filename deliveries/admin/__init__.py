"""Support's and operations' pages: the ledger to look at, its dead letters to replay."""

from deliveries.admin import deliveries, lanes, messages, provider_events, workers

__all__ = ["deliveries", "lanes", "messages", "provider_events", "workers"]
