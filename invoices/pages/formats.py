"""Times, days and amounts as one organization reads them: its language, its time zone."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from babel import Locale
from babel.dates import format_skeleton
from babel.numbers import format_decimal, format_percent
from django.utils import timezone
from django.utils.translation import gettext as _

from invoices import money
from invoices.models import Organization


@dataclass(frozen=True, kw_only=True)
class Moment:
    """A point in time for a `<time>` element: short in the text, exact in UTC on hovering."""

    at: datetime
    text: str

    @property
    def iso(self) -> str:
        return self.at.astimezone(UTC).isoformat(timespec="seconds")

    @property
    def utc(self) -> str:
        return self.at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


@dataclass(frozen=True, kw_only=True)
class Formats:
    """How an organization writes. Bad data never raise: a broken row must not hide the others."""

    locale: Locale
    zone: ZoneInfo
    now: datetime

    @classmethod
    def of(cls, organization: Organization, *, now: datetime | None = None) -> Self:
        return cls(
            locale=_locale(organization.language),
            zone=_zone(organization.time_zone),
            now=now or timezone.now(),
        )

    @property
    def today(self) -> date:
        return self.now.astimezone(self.zone).date()

    def moment(self, at: datetime) -> Moment:
        """28 Nov, 10:42; with the year, unless it is this one."""
        local = at.astimezone(self.zone)
        return Moment(at=at, text=f"{self.short_day(local.date())}, {self._clock(local, 'Hm')}")

    def clock(self, at: datetime) -> Moment:
        """10:42, for what happens today; else with its day."""
        local = at.astimezone(self.zone)
        if local.date() != self.today:
            return self.moment(at)
        return Moment(at=at, text=self._clock(local, "Hm"))

    def clock_exact(self, at: datetime) -> Moment:
        """10:42:07, for what happens today; else with its day."""
        local = at.astimezone(self.zone)
        if local.date() != self.today:
            return self.exact(at)
        return Moment(at=at, text=self._clock(local, "Hms"))

    def exact(self, at: datetime) -> Moment:
        """28 Nov, 10:42:07: for timelines, where several steps share a minute."""
        local = at.astimezone(self.zone)
        return Moment(at=at, text=f"{self.short_day(local.date())}, {self._clock(local, 'Hms')}")

    def weekday_moment(self, at: datetime) -> Moment:
        """Monday 9 March, 09:00: for what is to come, where the weekday tells more."""
        local = at.astimezone(self.zone)
        return Moment(at=at, text=f"{self.weekday(local.date())}, {self._clock(local, 'Hm')}")

    def day_moment(self, at: datetime) -> Moment:
        """28 Nov; with the year, unless it is this one."""
        return Moment(at=at, text=self.short_day(at.astimezone(self.zone).date()))

    def day(self, day: date) -> str:
        return self._day(day, "yMMMd")

    def short_day(self, day: date) -> str:
        return self._day(day, "MMMd" if day.year == self.today.year else "yMMMd")

    def weekday(self, day: date) -> str:
        """Monday 9 March; with the year, unless it is this one."""
        return self._day(day, "MMMMEEEEd" if day.year == self.today.year else "yMMMMEEEEd")

    def amount(self, amount_minor: int, currency: str) -> str:
        try:
            return money.format_amount(amount_minor, currency, str(self.locale))
        except money.UnknownCurrency:
            return _("%(amount)s minor units of “%(currency)s”") % {
                "amount": amount_minor,
                "currency": currency,
            }

    def figure(self, amount_minor: int, currency: str) -> str:
        try:
            return money.format_figure(amount_minor, currency, str(self.locale))
        except money.UnknownCurrency:
            return str(amount_minor)

    def number(self, number: Decimal) -> str:
        return format_decimal(number, locale=self.locale, decimal_quantization=False)

    def count(self, count: int) -> str:
        """1,250: how many there are."""
        return format_decimal(count, locale=self.locale)

    def percent(self, rate: Decimal) -> str:
        return format_percent(rate / 100, locale=self.locale, decimal_quantization=False)

    def _day(self, day: date, skeleton: str) -> str:
        noon = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
        return format_skeleton(skeleton, noon, tzinfo=UTC, locale=self.locale)

    def _clock(self, local: datetime, skeleton: str) -> str:
        return format_skeleton(skeleton, local, tzinfo=self.zone, locale=self.locale)


def _locale(tag: str) -> Locale:
    try:
        return money.find_locale(tag)
    except money.UnknownLocale:
        return money.find_locale("en")


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")
