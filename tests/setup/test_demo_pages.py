"""What the demo's web server answers where something is wrong, in the environment of the demo."""

import os
import subprocess
import sys

import pytest

from tests.setup.conftest import PROJECT

pytestmark = pytest.mark.thorough

ASK = """
import sys
from invoicehub.demo.wsgi import application
from django.test import RequestFactory

environ = RequestFactory(headers={"Accept": "text/html"}).get(sys.argv[1]).environ
answers = []
body = b"".join(application(environ, lambda status, headers: answers.append((status, headers))))
[(status, headers)] = answers
print(status, dict(headers)["Content-Security-Policy"][:18], body.decode())
"""


def answer(path: str) -> str:
    in_development = {"DEBUG": "true", "DATABASE_URL": "", "ALLOWED_HOSTS": "testserver"}
    return subprocess.run(  # our own program
        [sys.executable, "-c", ASK, path],
        cwd=PROJECT,
        env=os.environ | in_development | {"DJANGO_SETTINGS_MODULE": "invoicehub.settings"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout


def test_a_wrong_address_leads_to_our_own_page() -> None:
    page = answer("/nothing/here")
    assert page.startswith("404 Not Found default-src 'none'")
    assert "There is nothing here" in page
    assert "URLconf" not in page


def test_style_sheets_are_found_as_in_development() -> None:
    assert answer("/static/invoices/site.css").startswith("200 OK")
