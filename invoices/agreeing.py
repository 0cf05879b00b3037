"""Whether each invoice says of its e-mail what the ledger says, live or archived."""

from collections.abc import Iterator

from deliveries import ledger
from deliveries.ledger import Contradiction


def contradictions() -> Iterator[Contradiction]:
    """Tell where invoices and their last e-mails disagree. Reads all; each rule at one moment."""
    yield from ledger.check(_RULES)


# An invoice that could not follow its delivery yet is no contradiction: it is tried again.
_LAST = """
    SELECT organization.slug || ' ' || invoice.number FROM invoices_invoice invoice
    JOIN invoices_organization organization ON organization.id = invoice.organization_id
    LEFT JOIN LATERAL (
        SELECT id, status FROM deliveries_delivery
        WHERE invoice_id = invoice.id AND kind = 'invoice' ORDER BY id DESC LIMIT 1
    ) last ON true
    LEFT JOIN deliveries_unfolloweddelivery unfollowed ON unfollowed.delivery_id = last.id
    WHERE unfollowed.delivery_id IS NULL
"""

_RULES = {
    "an invoice is being sent, but no e-mail of it is under way": f"""{_LAST}
        AND invoice.status = 'sending'
        AND coalesce(last.status, '') NOT IN ('queued', 'running', 'retrying')
    """,
    "an invoice was not sent, but its last e-mail was or still may be": f"""{_LAST}
        AND invoice.status = 'failed' AND last.status NOT IN ('dead', 'cancelled')
    """,
    "an invoice is a draft, but an e-mail of it has left or may leave": f"""{_LAST}
        AND invoice.status = 'draft' AND last.status <> 'cancelled'
    """,
}
