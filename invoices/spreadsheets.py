"""What makes the cells of a CSV harmless in spreadsheets; every export goes through it."""

import re


def harmless(text: str) -> str:
    """Put an apostrophe before what a spreadsheet would take for a formula.

    At the cell's beginning, and wherever a cell may begin if the file is read with another
    separator than the comma (a semicolon in half of Europe) or without regard to quotes: behind
    each comma, semicolon, tab, bar and line end.
    """
    return _FORMULA.sub(r"\1'", text)


_SEPARATORS = r",;\t|\r\n\v\f\x1c-\x1e\x85\u2028\u2029"
# Quotes, and what is not seen: spaces, controls, Unicode's format characters (soft hyphens, marks
# of direction, tags), fillers, joiners, variation selectors. Some programs strip some of them.
# No separator is among them, so that a long row of these is read once and not over and over.
_SKIPPED = (
    r" \"'\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\xa0\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890"
    r"\u0891\u08e2\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u202a-\u202f"
    r"\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd"
    r"\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# OWASP, "CSV Injection": = + - @ tab and return, also as the full-width signs that some
# spreadsheets read alike. A tab or return that begins one cell may end another, so it is looked at
# and not used up.
_FORMULA = re.compile(rf"((?:^|[{_SEPARATORS}])[{_SKIPPED}]*+)(?=[=+\-@\t\r＝＋－＠﹢﹣﹦﹫−])")
