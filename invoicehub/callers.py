"""Where a request comes from, as far as that can be believed."""

import ipaddress

from django.conf import settings
from django.http import HttpRequest


def network_of(request: HttpRequest) -> str:
    """Return the caller's IPv4 address or IPv6 /64; "" where it is unknown.

    Each trusted proxy appends whom it heard from to X-Forwarded-For: what stands further left,
    the caller may have written himself.
    """
    heard = [word.strip() for word in request.headers.get("X-Forwarded-For", "").split(",")]
    hops = settings.TRUSTED_PROXIES
    if hops and len(heard) >= hops:
        return _network(heard[-hops])
    return _network(request.META.get("REMOTE_ADDR", ""))


def _network(text: str) -> str:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return ""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        # Whoever has one address of a /64 has them all.
        return str(ipaddress.ip_network((address.packed, 64), strict=False))
    return str(address)
