"""Lengths of time in a few letters, for tables that a person looks at all day."""

from datetime import timedelta


def in_words(span: timedelta) -> str:
    """Say how long: 8 s, 12 min, 3 h 5 min, 4 days. Never less than 0 s."""
    seconds = max(0, int(span.total_seconds()))
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86_400
    if days >= 2:
        return f"{days} days"
    if hours:
        return f"{hours} h {minutes % 60} min" if minutes % 60 else f"{hours} h"
    if minutes:
        return f"{minutes} min"
    return f"{seconds} s"
