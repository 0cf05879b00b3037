#!/usr/bin/env python
"""InvoiceHub's command line: web server, worker, cron and operations all start here."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "invoicehub.settings")
    try:
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line
        from django.db import Error
    except ImportError as error:
        raise SystemExit(
            "Django is not installed here. Run `make setup`, then use .venv/bin/python manage.py …"
        ) from error
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        # The sentence says what to change; a traceback would hide it.
        raise SystemExit(f"{sys.argv[0]}: {error}") from None
    except Error as error:
        from invoicehub import database_errors

        sentence = database_errors.sentence_of(error)
        if sentence is None or "--traceback" in sys.argv:
            raise
        sys.stderr.write(f"{sys.argv[0]}: {sentence}\n")
        raise SystemExit(database_errors.EXIT_CODE) from None


if __name__ == "__main__":
    main()
