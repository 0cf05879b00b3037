"""What the project itself keeps: failed logins, for as long as they slow down whoever guesses."""

from django.db import models
from django.db.models.functions import Now


class LoginFailures(models.Model):
    """How often something failed to log in since its window began: a name, an address, a browser.

    The key is a keyed hash: the table tells nobody's name or address.
    """

    key = models.CharField(primary_key=True, max_length=64)
    failures = models.PositiveIntegerField(default=0, db_default=0)
    since = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [
            # For throttle._forget_old: finds what nobody needs any more.
            models.Index(fields=["since"], name="login_failures_since"),
        ]

    def __str__(self) -> str:
        return self.key[:8]
