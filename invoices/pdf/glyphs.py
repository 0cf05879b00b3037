"""What the fonts can show of a text, and what stands for the rest.

A character that no font has would be drawn as an empty box. `displayable` lets none through:

1. an equivalent or compatible form that can be shown stands for it (㎏ → kg, ⑴ → (1));
2. otherwise a question mark, one for each character as a reader counts them. It is wrong where
   everybody sees it. A transliteration would be wrong where nobody looks: 東京 is not "Dong Jing",
   on a document that a court may read.

`missing_glyphs` names what would become a question mark, so that a page can warn before the click.
"""

import re
import unicodedata
from collections.abc import Iterator

from invoices.pdf.fonts import font_set

REPLACEMENT = "?"

_ZERO_WIDTH_JOINER = "\N{ZERO WIDTH JOINER}"
# Embeddings, overrides and isolates come along from chat programs, and can make an amount read
# backwards. The plain marks (LRM, RLM, ALM) stay: Babel's amounts need them. The byte order mark
# is forbidden by PDF/A.
_DROPPED = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
_TO_LINE_BREAKS = str.maketrans(dict.fromkeys("\r\v\f\x85\u2028\u2029", "\n"))
# Format characters that have a glyph all the same, unlike the rest of their category: signs that
# span a number, annotations, hieroglyph joiners.
_SEEN_FORMAT = re.compile(
    "[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\ufff9-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f]"
)


def missing_glyphs(text: str) -> set[str]:
    """Return the characters that no font has: each would be printed as a question mark."""
    return {
        character
        for cluster in _clusters(_cleaned(text))
        if _shown_as(cluster) is None
        for character in cluster
        if not _is_shown(character)
    }


def displayable(text: str) -> str:
    """Return the text as it can be printed: no control characters, no boxes."""
    text = _cleaned(text)
    if all(map(_is_shown, text)):
        return text
    return "".join(_shown_as(cluster) or _marked(cluster) for cluster in _clusters(text))


def _cleaned(text: str) -> str:
    """Unify line breaks, and drop what no reader sees."""
    text = text.replace("\r\n", "\n").translate(_TO_LINE_BREAKS).replace("\t", " ")
    return "".join(
        character
        for character in text
        if character == "\n"
        or (unicodedata.category(character) != "Cc" and character not in _DROPPED)
    )


def _is_shown(character: str) -> bool:
    if ord(character) in font_set().characters:
        # A private character looks different in each font: none has the one that was meant.
        return unicodedata.category(character) != "Co"
    return character == "\n" or _needs_no_glyph(character)


def _needs_no_glyph(character: str) -> bool:
    return (
        "\ufe00" <= character <= "\ufe0f"  # variation selectors
        or "\U000e0100" <= character <= "\U000e01ef"
        or (unicodedata.category(character) == "Cf" and not _SEEN_FORMAT.match(character))
    )


def _shown_as(cluster: str) -> str | None:
    """Return the form of a cluster that can be shown, or None."""
    forms = (unicodedata.normalize(form, cluster) for form in ("NFC", "NFD", "NFKC", "NFKD"))
    return next((form for form in (cluster, *forms) if all(map(_is_shown, form))), None)


def _marked(cluster: str) -> str:
    base, marks = cluster[0], cluster[1:]
    if not _is_shown(base):
        return REPLACEMENT
    return base + "".join(filter(_is_shown, marks)) + REPLACEMENT


def _clusters(text: str) -> Iterator[str]:
    """Split into what a reader counts as one character: UAX #29, as far as one "?" needs it."""
    cluster = ""
    for character in text:
        if cluster and not _continues(cluster, character):
            yield cluster
            cluster = ""
        cluster += character
    if cluster:
        yield cluster


def _continues(cluster: str, character: str) -> bool:
    return (
        unicodedata.category(character) in ("Mn", "Mc", "Me")
        or character == _ZERO_WIDTH_JOINER
        or cluster.endswith(_ZERO_WIDTH_JOINER)
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= character <= "\U000e007f"  # tags, as in the flag of Scotland
        or (len(cluster) == 1 and _is_flag_letter(cluster) and _is_flag_letter(character))
    )


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
