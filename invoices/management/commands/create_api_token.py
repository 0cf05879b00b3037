"""manage.py create_api_token: let another program act as a member."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from invoices import tokens
from invoices.models import Member


class Command(BaseCommand):
    help = (
        "Make a bearer token with which a program acts as a member of an organization, and print "
        "it. It is shown only now: just its hash is stored. Revoke it in the admin. "
        "Example: manage.py create_api_token finance --organization mainland-supplies --name ERP"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--organization", required=True, metavar="SLUG")
        parser.add_argument("--name", required=True, help="what the token is for")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["name"].strip()
        if not name or len(name) > 100:
            raise CommandError("--name must have 1 to 100 characters.", returncode=2)
        try:
            member = Member.objects.get(
                user__username=options["username"], organization__slug=options["organization"]
            )
        except Member.DoesNotExist:
            raise CommandError(
                f"{options['username']} is not a member of {options['organization']}."
            ) from None
        self.stdout.write(tokens.issue(member, name=name))
