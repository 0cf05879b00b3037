"""Who may look at which address of the site, and who may post to it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tests.invoices.access.walking import Address, World

NOBODY, ANYONE, VIEWERS, MEMBERS, OWNERS = range(-1, 4)


def _nothing(world: World) -> dict[str, Any]:
    return {}


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Who may look at an address and who may post to it; the others of the organization get 403."""

    look: int = NOBODY  # Nobody may: 405.
    change: int = NOBODY
    data: Callable[[World], dict[str, Any]] = field(default=_nothing)
    # With these methods it is 404 to other organizations, although the address has no argument.
    theirs: str = ""
    # It names nothing that is anybody's, although the address has an argument.
    of_everybody: bool = False
    person_only: bool = False
    # The same for a change alone.
    person_to_change: bool = False
    # To others of the same organization too it is 404: it is one person's.
    personal: bool = False

    def is_theirs(self, address: Address, method: str) -> bool:
        names_an_object = bool(address.arguments) and not self.of_everybody
        return names_an_object or method == self.theirs

    def refuses_programs(self, method: str) -> bool:
        return self.person_only or (self.person_to_change and method == "POST")

    def least(self, method: str) -> int:
        return self.look if method == "GET" else self.change


look = partial(Rule, look=VIEWERS)
sender = partial(Rule, look=MEMBERS, change=MEMBERS)
act = partial(Rule, change=MEMBERS)
settings = partial(Rule, look=VIEWERS, change=OWNERS, person_to_change=True)
owners_act = partial(Rule, change=OWNERS, person_only=True)
REASON = {"reason": "Because it was asked for."}
AN_INVOICE = {
    "number": "X-1",
    "currency": "NGN",
    "issued_on": "2026-03-02",
    "due_on": "2026-03-16",
    "lines-TOTAL_FORMS": 1,
    "lines-INITIAL_FORMS": 0,
    "lines-0-description": "Rice",
    "lines-0-quantity": 1,
    "lines-0-unit_price": 5,
}

RULES: dict[str, Rule] = {
    "home": Rule(look=ANYONE),
    "login": Rule(look=ANYONE, change=ANYONE),
    "logout": Rule(change=ANYONE),
    "admin_login": Rule(look=ANYONE, change=ANYONE),
    # Staff alone, in an organization or not: tests/security.
    "second_step": Rule(look=ANYONE, change=ANYONE),
    "second_step_setup": Rule(look=ANYONE, change=ANYONE),
    "renew_backup_codes": Rule(change=ANYONE),
    "turn_off_second_step": Rule(change=ANYONE),
    "healthz": Rule(look=ANYONE),
    # By the network or a token of its own: tests/metrics.
    "metrics": Rule(look=ANYONE),
    "readyz": Rule(look=ANYONE),
    "open_invitation": Rule(look=ANYONE, of_everybody=True),
    "invitation": Rule(look=ANYONE, change=ANYONE),
    "choose_organization": Rule(
        change=VIEWERS,
        data=lambda world: {"organization": world.organization.slug},
        theirs="POST",
    ),
    # Invoices
    "invoice_list": look(),
    "export_invoices": look(),
    "invoice_detail": look(),
    "invoice_state": look(),
    "invoice_pdf": look(),
    "invoice_records": look(),
    "invoice_record": look(),
    "delivery": look(),
    "new_invoice": sender(
        data=lambda world: AN_INVOICE | {"customer": world.invoices[0].customer_id}
    ),
    "edit_invoice": sender(data=lambda world: {"number": "X-1", "currency": "NGN"}),
    "invoice_totals": act(),
    "customer_options": Rule(look=MEMBERS),
    "send_invoice": act(),
    "send_again": sender(data=lambda world: {"number": 1} | REASON),
    "retry_invoice": sender(data=lambda world: {"confirmed": 1}),
    "mark_paid": sender(data=lambda world: {"day": "2026-03-03"}),
    "mark_unpaid": act(),
    "void_invoice": sender(data=lambda world: REASON),
    "pause_reminders": act(),
    "resume_reminders": act(),
    "pause_customer_reminders": act(),
    "resume_customer_reminders": act(),
    "reminder_list": look(),
    "bounce_list": look(),
    "export_bounces": look(),
    # The provider's, by its signature.
    "email_events": Rule(change=ANYONE),
    # Many at once
    "send_invoices": act(
        data=lambda world: {"invoice": [invoice.pk for invoice in world.invoices]},
        theirs="POST",
    ),
    "batch_list": look(),
    "batch": look(),
    "batch_state": look(),
    "continue_batch": act(),
    "import_invoices": sender(),
    "import_sample": look(),
    "upload": sender(data=lambda world: {"confirmed": 1}),
    # Customers
    "customer_list": look(),
    "new_customer": sender(),
    "edit_customer": Rule(look=VIEWERS, change=MEMBERS, data=lambda world: {"name": "Taken over"}),
    "remove_customer": act(),
    "restore_customer": act(),
    # Settings
    "organization_settings": settings(),
    "logo": settings(theirs="GET"),
    "remove_logo": owners_act(),
    "email_texts": settings(data=lambda world: {"kind": "invoice", "seen": "x"}),
    "preview": owners_act(data=lambda world: {"kind": "invoice"}),
    "preview_letter": look(of_everybody=True),
    "reminder_settings": settings(),
    # People and programs
    "member_list": Rule(look=OWNERS, person_only=True),
    "change_role": owners_act(data=lambda world: {"role": "viewer"}),
    "remove_member": owners_act(),
    "invite": owners_act(),
    "renew_invitation": owners_act(),
    "revoke_invitation": owners_act(),
    "token_list": Rule(look=VIEWERS, change=VIEWERS, person_only=True),
    "revoke_token": Rule(change=OWNERS, person_only=True, personal=True),
}
