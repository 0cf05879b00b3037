"""What the tests of this folder begin with."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from invoices.pdf import (
    fonts,
)
from invoices.pdf.fonts import font_set


@pytest.fixture
def without_cjk_fonts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(fonts, "_SYSTEM_FONTS", tmp_path)
    monkeypatch.setattr(fonts, "_PACKAGES", ("fontpkg_noto_sans", "fontpkg_noto_sans_arabic"))
    font_set.cache_clear()
    yield
    font_set.cache_clear()
