"""What a page says."""

from typing import Any


def text(response: Any, status: int = 200) -> str:
    assert response.status_code == status
    content: str = response.content.decode()
    return content
