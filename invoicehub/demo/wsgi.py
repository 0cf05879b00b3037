"""The demo's WSGI entry point: development's settings, but the pages that people are meant to see.

Where DEBUG is on, Django answers a wrong address with its own page for developers.
"""

from django.conf import settings

from invoicehub.wsgi import application

# After all settings that depend on it: they stay as in development.
settings.DEBUG = False

__all__ = ["application"]
