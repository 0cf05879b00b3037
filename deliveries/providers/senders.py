"""The address that all our e-mails come from."""

from deliveries.addresses import with_ascii_domain
from deliveries.errors import AccountProblem


def usable(from_address: str) -> str:
    """Return the sender with an ASCII domain; raise `AccountProblem` where that is none.

    It is the installation's own: no message would go out.
    """
    try:
        return with_ascii_domain(from_address)
    except ValueError as error:
        summary = "The sender's address (EMAIL_FROM) cannot be used"
        raise AccountProblem(f"{summary}: {error}.", summary=f"{summary}.") from None
