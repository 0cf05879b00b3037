"""A private PostgreSQL for development and tests, started and stopped by the processes that use it.

As a database backend (`"ENGINE": "invoicehub.embedded"`) it starts at the first connection and
stops when the last process that used it has left. `server.start()` gives the same server to code.
"""
