"""WSGI entry point: gunicorn invoicehub.wsgi"""

import os

from django.core.wsgi import get_wsgi_application

from invoicehub.charsets import RefuseOtherCharsets

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "invoicehub.settings")

application = RefuseOtherCharsets(get_wsgi_application())
