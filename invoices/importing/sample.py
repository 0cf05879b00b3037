"""A file to begin with: what docs/import.md shows and the page offers."""

from pathlib import Path

SAMPLE = Path(__file__).with_name("sample.csv").read_text(encoding="utf-8")
