"""The languages and time zones that people choose from, by their names."""

import re
import zoneinfo
from functools import cache

from babel import Locale, UnknownLocaleError, localedata
from babel.languages import get_official_languages

Choice = tuple[str, str]
Group = tuple[str, list[Choice]]

# Regions of the time zone database that are places; the others are old names and offsets.
_REGIONS = {
    *("Africa", "America", "Antarctica", "Asia", "Atlantic"),
    *("Australia", "Europe", "Indian", "Pacific"),
}


@cache
def languages() -> tuple[Choice, ...]:
    """Return each language, and each with a country where it is official: ("en-NG", "English…")."""
    english = Locale.parse("en")
    known = set(localedata.locale_identifiers())
    countries = [code for code in map(str, english.territories) if re.fullmatch("[A-Z]{2}", code)]
    official = {
        tag
        for country in countries
        for language in get_official_languages(country, de_facto=True)
        for tag in (language, f"{language}_{country}")
        if tag in known
    }
    return tuple(sorted(((tag.replace("_", "-"), language_name(tag)) for tag in official), key=_by))


def language_name(tag: str) -> str:
    """Return "English (Nigeria)" for en-NG; the tag itself where it is none."""
    try:
        return Locale.parse(tag.replace("-", "_")).get_display_name("en") or tag
    except (UnknownLocaleError, ValueError, TypeError):
        return tag


def languages_with(tag: str) -> list[Choice]:
    """Return all languages, and that one even where it is an unusual one."""
    choices = list(languages())
    if tag and tag not in dict(choices):
        choices.append((tag, language_name(tag)))
    return choices


@cache
def time_zones() -> tuple[Group, ...]:
    """Return the time zones by region: ("Africa", [("Africa/Lagos", "Lagos"), …])."""
    groups: dict[str, list[Choice]] = {"": [("UTC", "UTC")]}
    for name in sorted(zoneinfo.available_timezones()):
        region, _slash, place = name.partition("/")
        if region in _REGIONS:
            groups.setdefault(region, []).append((name, _readable(place)))
    return tuple((region or "UTC", zones) for region, zones in groups.items())


def time_zones_with(name: str) -> list[Group]:
    """Return all time zones, and that one even where it is an old name."""
    groups = list(time_zones())
    if name and all(name != zone for _region, zones in groups for zone, _place in zones):
        groups.append((name.partition("/")[0], [(name, name)]))
    return groups


def _readable(place: str) -> str:
    return place.replace("_", " ").replace("/", ", ")


def _by(choice: Choice) -> str:
    return choice[1]
