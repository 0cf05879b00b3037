"""What pages say."""

import base64
import re

HTMX = {"hx-request": "true"}


def seen(page: str) -> str:
    found = re.search(r'hx-get="(/invoices/[^"]+)"', page)
    assert found is not None
    return found[1].replace("&amp;", "&")


def stored_pdf(content: bytes) -> dict[str, str]:
    return {
        "filename": "INV-0001.pdf",
        "content_type": "application/pdf",
        "content": base64.b64encode(content).decode(),
    }
