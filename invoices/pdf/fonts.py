"""The fonts a document is set in.

They come from Python packages, so that every machine sets the same page. Where no package brings
Chinese, Japanese and Korean, the system's Noto Sans CJK serves, if it is installed (Debian:
fonts-noto-cjk). Every package here is optional but the first.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import typst
from babel import Locale

from invoices.pdf.charmap import characters_of

_PACKAGES = (
    "fontpkg_noto_sans",
    "fontpkg_noto_sans_arabic",
    "manimgx_fonts",
    "manimgx_fonts_cjk",
)
_SYSTEM_FONTS = Path("/usr/share/fonts")
_TEXT_FAMILY = "Noto Sans"
_CJK_PREFIX = "Noto Sans CJK "
# Symbols and emoji have digits and punctuation too: they come after all text fonts.
_LAST_FAMILIES = ("Noto Sans Symbols", "Noto Emoji")


@dataclass(frozen=True)
class FontSet:
    """Loaded fonts, their families in order of preference, and the characters they have."""

    fonts: typst.Fonts
    families: tuple[str, ...]
    characters: frozenset[int]


@cache
def font_set() -> FontSet:
    """Load the fonts, once per process."""
    directories = _package_directories()
    fonts = _load(directories)
    if not any(family.startswith(_CJK_PREFIX) for family in fonts.families()):
        fonts = _load(directories + _system_cjk_directories())
    families = _in_order(set(fonts.families()))
    if _TEXT_FAMILY not in families:
        raise RuntimeError("The font Noto Sans is not installed: run `make setup`.")
    return FontSet(fonts, families, _characters(fonts, families))


def families_for(texts: Iterable[str], *, locale: Locale) -> list[str]:
    """Order the families for one document.

    Chinese, Japanese and Korean share code points whose shapes differ. Kana and hangul tell which
    shapes are meant, then the document's locale; where nothing does, the simplified Chinese ones.
    """
    wanted = _CJK_PREFIX + _cjk_region("".join(texts), locale)
    return sorted(
        font_set().families, key=lambda family: (family != _TEXT_FAMILY, family != wanted)
    )


def _load(directories: list[Path]) -> typst.Fonts:
    return typst.Fonts(
        include_system_fonts=False, include_embedded_fonts=False, font_paths=directories
    )


def _package_directories() -> list[Path]:
    specs = [find_spec(package) for package in _PACKAGES]
    return [Path(spec.origin).parent for spec in specs if spec is not None and spec.origin]


def _system_cjk_directories() -> list[Path]:
    return sorted({path.parent for path in _SYSTEM_FONTS.rglob("NotoSansCJK*")})


def _in_order(families: set[str]) -> tuple[str, ...]:
    text = sorted(
        (
            family
            for family in families.difference(_LAST_FAMILIES, {_TEXT_FAMILY})
            if family.startswith("Noto Sans") and "Mono" not in family
        ),
        key=lambda family: (family.startswith(_CJK_PREFIX), family),
    )
    return tuple(family for family in (_TEXT_FAMILY, *text, *_LAST_FAMILIES) if family in families)


def _characters(fonts: typst.Fonts, families: tuple[str, ...]) -> frozenset[int]:
    # A family's weights and styles have the same characters: one face tells.
    faces = {font.family: (font.path, font.index) for font in fonts.fonts()}
    characters: set[int] = set()
    for family in families:
        path, index = faces[family]
        if path is not None:
            characters |= characters_of(Path(path), index)
    return frozenset(characters)


def _cjk_region(text: str, locale: Locale) -> str:
    if any("\u3041" <= character <= "\u30ff" for character in text):
        return "JP"
    if any("\uac00" <= character <= "\ud7a3" for character in text):
        return "KR"
    if locale.territory == "HK":
        return "HK"
    if locale.script == "Hant" or locale.territory in ("TW", "MO"):
        return "TC"
    return {"ja": "JP", "ko": "KR"}.get(locale.language, "SC")
