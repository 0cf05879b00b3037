"""WSGI entry point: gunicorn invoicehub.wsgi"""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "invoicehub.settings")

application = get_wsgi_application()
