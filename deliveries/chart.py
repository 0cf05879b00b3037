"""A day as a small chart: where its bars stand. The template draws them as SVG, without script.

What was sent grows upwards. What died hangs below the line by a scale of its own, with its number:
three dead beside ten thousand sent would not be seen otherwise.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from deliveries.overview import Hour

STEP = 20
_GAP = 4
_TOP = 22
_SENT_HEIGHT = 80
_LINE = _TOP + _SENT_HEIGHT
_DEAD_HEIGHT = 26
# Hours that are labelled: few enough to be read on a phone.
_LABEL_EVERY = 6


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One hour's column; all lengths in the chart's own units."""

    hour: Hour
    x: int
    sent_y: int
    sent_height: int
    dead_height: int
    is_last: bool

    @property
    def middle(self) -> int:
        return self.x + (STEP - _GAP) // 2

    @property
    def number_y(self) -> int:
        return _LINE + self.dead_height + 12

    @property
    def labelled(self) -> bool:
        return self.hour.at.hour % _LABEL_EVERY == 0

    @property
    def label_anchor(self) -> str:
        """How the label stands at its x; centred, the first and the last would be cut off."""
        if self.is_last:
            return "end"
        return "start" if self.x < STEP else "middle"

    @property
    def label_x(self) -> int:
        return {
            "start": self.x,
            "middle": self.middle,
            "end": self.x + STEP - _GAP,
        }[self.label_anchor]


@dataclass(frozen=True, kw_only=True)
class Chart:
    bars: tuple[Bar, ...]
    sent: int
    dead: int
    most_sent: int
    busiest: Hour

    bar_width = STEP - _GAP
    top = _TOP
    line = _LINE
    reach = _SENT_HEIGHT + _DEAD_HEIGHT
    empty_y = _TOP + _SENT_HEIGHT // 2
    label_y = _LINE + _DEAD_HEIGHT + 32
    height = _LINE + _DEAD_HEIGHT + 38

    @property
    def width(self) -> int:
        return STEP * len(self.bars)

    @property
    def centre(self) -> int:
        return self.width // 2

    @property
    def empty(self) -> bool:
        return not (self.sent or self.dead)


def draw(hours: Sequence[Hour]) -> Chart:
    """Return the chart of these hours, of which there is at least one."""
    busiest = max(hours, key=lambda hour: hour.sent)
    most_dead = max(hour.dead for hour in hours)
    return Chart(
        bars=tuple(
            _bar(
                hour,
                x=number * STEP,
                most_sent=busiest.sent,
                most_dead=most_dead,
                is_last=number == len(hours) - 1,
            )
            for number, hour in enumerate(hours)
        ),
        sent=sum(hour.sent for hour in hours),
        dead=sum(hour.dead for hour in hours),
        most_sent=busiest.sent,
        busiest=busiest,
    )


def _bar(hour: Hour, *, x: int, most_sent: int, most_dead: int, is_last: bool) -> Bar:
    sent_height = _scaled(hour.sent, most=most_sent, height=_SENT_HEIGHT)
    return Bar(
        hour=hour,
        x=x + _GAP // 2,
        sent_y=_LINE - sent_height,
        sent_height=sent_height,
        dead_height=_scaled(hour.dead, most=most_dead, height=_DEAD_HEIGHT),
        is_last=is_last,
    )


def _scaled(number: int, *, most: int, height: int) -> int:
    """Return the bar's height; what is there at all is seen."""
    if not number:
        return 0
    return max(3, round(number / most * height))
