"""How long the worker holds back after trouble with the database."""

FIRST_SECONDS = 0.1
CAP_SECONDS = 5.0


class Backoff:
    """How long to hold back after trouble: longer each time, until it is over."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._until = 0.0

    def grow(self, moment: float = 0.0) -> None:
        doubled = max(self.seconds * 2, FIRST_SECONDS)
        self.seconds = min(doubled, CAP_SECONDS)
        self._until = moment + self.seconds

    def clear(self) -> None:
        self.seconds = 0.0
        self._until = 0.0

    def is_over(self, moment: float) -> bool:
        return moment >= self._until
