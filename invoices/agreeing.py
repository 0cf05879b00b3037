"""Whether each invoice says of its e-mail what the ledger says, live or archived."""

from collections.abc import Iterator

from deliveries import ledger
from deliveries.ledger import Contradiction


def contradictions() -> Iterator[Contradiction]:
    """Tell where invoices and their e-mails disagree. Reads all, once; of one moment."""
    yield from ledger.check(_RULES, of=_INVOICES, named=_NAME)


# Each invoice with what its deliveries come to. A maximum of ids says which is the last without
# sorting; the last digit says in which state it is.
_INVOICES = """
    FROM invoices_invoice invoice
    JOIN invoices_organization organization ON organization.id = invoice.organization_id
    LEFT JOIN (
        SELECT invoice_id,
            min(organization_id) AS first_organization, max(organization_id) AS last_organization,
            max(id) FILTER (WHERE kind = 'invoice') AS last_id,
            (ARRAY['under way', 'sent', 'dead', 'cancelled'])[1 + mod(max(id * 10 + CASE status
                WHEN 'sent' THEN 1 WHEN 'dead' THEN 2 WHEN 'cancelled' THEN 3 ELSE 0
            END) FILTER (WHERE kind = 'invoice'), 10)] AS last,
            bool_or(kind = 'invoice' AND status IN ('queued', 'retrying')) AS waits,
            count(*) FILTER (
                WHERE kind = 'invoice' AND status = 'sent' AND position(':again:' IN dedupe_key) = 0
            ) AS sent_at_first
        FROM deliveries_delivery GROUP BY invoice_id
    ) mail ON mail.invoice_id = invoice.id
    LEFT JOIN deliveries_unfolloweddelivery unfollowed ON unfollowed.delivery_id = mail.last_id
"""

_NAME = "organization.slug || ' ' || invoice.number"

# An invoice that could not follow its delivery yet is no contradiction: it is tried again.
_FOLLOWED = "unfollowed.delivery_id IS NULL AND"

# A worker that had it in hand when the invoice was voided puts it back if the provider fails, and
# cancels it when its turn comes again.
_PUT_BACK_SINCE = """EXISTS (
    SELECT 1 FROM deliveries_deliveryevent event WHERE event.delivery_id = mail.last_id
        AND event.type IN ('attempt_failed', 'released', 'lease_lost')
        AND event.at >= invoice.voided_at - interval '1 minute'
)"""

_RULES = {
    "an invoice is being sent, but no e-mail of it is under way": (
        f"{_FOLLOWED} invoice.status = 'sending' AND mail.last IS DISTINCT FROM 'under way'"
    ),
    "an invoice was not sent, but its last e-mail was or still may be": (
        f"{_FOLLOWED} invoice.status = 'failed' AND mail.last NOT IN ('dead', 'cancelled')"
    ),
    "an invoice is a draft, but an e-mail of it has left or may leave": (
        f"{_FOLLOWED} invoice.status = 'draft' AND mail.last <> 'cancelled'"
    ),
    "an invoice was sent from here, but there is no e-mail of it": """
        invoice.status IN ('sent', 'paid') AND invoice.imported_at IS NULL AND mail.last_id IS NULL
    """,
    "an invoice is void, but an e-mail of it waits": (
        f"invoice.status = 'void' AND mail.waits AND NOT {_PUT_BACK_SINCE}"
    ),
    "an invoice was sent twice, and nobody wanted it sent again": "mail.sent_at_first > 1",
    "an e-mail is another organization's than its invoice": """
        mail.first_organization <> invoice.organization_id
        OR mail.last_organization <> invoice.organization_id
    """,
}
