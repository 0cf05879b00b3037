"""manage.py reset_second_step: let somebody in again who lost app and codes, or is shut out."""

from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from invoicehub.second_step import devices


class Command(BaseCommand):
    help = (
        "Forget a person's authenticator app and backup codes, and the wait after wrong ones. The "
        "password alone lets in until a new app is set up: if somebody else knows it, change it "
        "first, by manage.py changepassword, which ends all sessions as well. It stands in the "
        "person's history in the admin. "
        "Example: manage.py reset_second_step support --reason 'Lost the phone, called back'"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--reason", required=True, help="why, for whoever reads the history")

    def handle(self, *args: Any, **options: Any) -> None:
        reason = options["reason"].strip()
        if not reason or len(reason) > 500 or not reason.isprintable():
            raise CommandError("--reason must have 1 to 500 characters, on a line.", returncode=2)
        try:
            user = User.objects.get(username=options["username"])
        except User.DoesNotExist:
            raise CommandError(f"There is nobody called {options['username']}.") from None
        if not devices.has_any(user):
            self.stdout.write(f"{user.username} has no second step. Nothing was changed.")
            return
        with transaction.atomic():
            devices.give_up(user)
            _enter(user, reason)
        self.stdout.write(
            f"The second step of {user.username} is reset: the password alone lets in until a new "
            "app is set up."
        )


def _enter(user: User, reason: str) -> None:
    # The admin's log wants a person: a command has none but the one it is about.
    LogEntry.objects.log_actions(
        user.pk,
        User.objects.filter(pk=user.pk),
        CHANGE,
        f"Second step reset by manage.py reset_second_step: {reason}",
        single_object=True,
    )
