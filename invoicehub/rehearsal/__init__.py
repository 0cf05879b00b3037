"""Rehearsing failures on real processes: what `manage.py drill` and the process tests stand on."""
