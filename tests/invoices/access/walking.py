"""What the walk over every address needs: an organization with one of everything, and people."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any
from uuid import uuid4

from django.apps import apps
from django.contrib.auth.models import User
from django.db import models
from django.http import HttpResponseBase
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RoutePattern

from deliveries.models import Delivery
from invoices import branding, bulk_sending, importing, inviting, tokens, uploads
from invoices.models import Batch, Invitation, Invoice, Member, Organization, Upload
from tests import factories
from tests.invoices.importing.files import file_of, row
from tests.invoices.settings.test_logo import picture

# Nothing of these may ever be in an answer to somebody else.
SECRETS = (
    *("Quokka Traders", "quokka", "Wombat Kitchen", "wombat", "7 Burrow Lane", "8,765"),
    *("QK-0001", "QK-0002", "QK-0003", "Eucalyptus", "burrows.csv", "Platypus", "cassowary"),
)


@dataclass(frozen=True, kw_only=True)
class World:
    """An organization and what it owns."""

    organization: Organization
    invoices: tuple[Invoice, ...]
    delivery: Delivery
    batch: Batch
    upload: Upload
    invitation: Invitation
    invitation_token: str
    member: Member
    token_id: int


def make_world() -> World:
    organization = factories.make_organization(
        "quokka", name="Quokka Traders", email="hello@quokka.example", address="7 Burrow Lane"
    )
    owner = factories.make_member(organization, "owner", "owner").memberships.get()
    factories.make_member(organization, "viewer", "viewer")
    member = factories.make_member(organization, "member").memberships.get()
    tokens.issue(owner, name="Platypus")
    branding.keep_logo(organization, branding.read_picture(picture()), user_id=owner.user_id)
    issued = inviting.invite("cassowary@people.example", "member", by=owner)
    draft, sent, third = (_invoice(organization, f"QK-000{place}") for place in (1, 2, 3))
    return World(
        organization=organization,
        invoices=(draft, sent),
        delivery=factories.make_delivery(sent),
        batch=bulk_sending.send_many(
            [third.pk],
            organization=organization,
            user_id=owner.user_id,
            once=uuid4(),
            chosen="All drafts for Wombat Kitchen",
        ),
        upload=uploads.keep(
            file_of(row(number="QK-0009")),
            name="burrows.csv",
            member=owner,
            options=importing.Options(),
        ),
        invitation=issued.invitation,
        invitation_token=issued.token,
        member=member,
        token_id=owner.api_tokens.get().pk,
    )


def _invoice(organization: Organization, number: str) -> Invoice:
    return factories.make_invoice(
        organization,
        number=number,
        customer_name="Wombat Kitchen",
        email="wombat@customer.example",
        amount_minor=876_543,
        notes="Eucalyptus, by the bale",
    )


def make_outsider() -> User:
    """Make the owner of another organization, which has an invoice of its own."""
    elsewhere = factories.make_organization("nordlicht", name="Nordlicht Kaffee GmbH")
    outsider = factories.make_member(elsewhere, "outsider", "owner")
    factories.make_invoice(elsewhere, number="NK-0001")
    return outsider


# What stands in an address, as its pattern calls it. `kind` names no object of anybody's.
ARGUMENTS: dict[str, Callable[[World], tuple[Any, ...]]] = {
    "invoice_id": lambda world: tuple(invoice.pk for invoice in world.invoices),
    "customer_id": lambda world: (world.invoices[0].customer_id,),
    "delivery_id": lambda world: (world.delivery.pk,),
    "batch_id": lambda world: (world.batch.pk,),
    "upload_id": lambda world: (world.upload.pk,),
    "invitation_id": lambda world: (world.invitation.pk,),
    "member_id": lambda world: (world.member.pk,),
    "token_id": lambda world: (world.token_id,),
    "token": lambda world: (world.invitation_token,),
    "kind": lambda world: ("invoice",),
}


@dataclass(frozen=True)
class Address:
    """A pattern of the project: its name and the words of its path."""

    name: str
    route: str
    arguments: tuple[str, ...]

    def paths(self, world: World) -> Iterator[str]:
        """Return the path of each of the world's objects that the address can be about."""
        for values in product(*(self._values(word, world) for word in self.arguments)):
            path = self.route
            for word, value in zip(self.arguments, values, strict=True):
                path = path.replace(f"<{word}>", str(value))
            yield f"/{path}"

    def _values(self, word: str, world: World) -> tuple[Any, ...]:
        assert word in ARGUMENTS, (
            f"“{self.name}” takes “{word}”: say in ARGUMENTS of {__name__} which objects that is."
        )
        return ARGUMENTS[word](world)


def addresses(
    patterns: list[Any] | None = None, prefix: str = "", space: str = ""
) -> Iterator[Address]:
    """Walk all patterns of the project but the admin's, which lets no member in at all."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(pattern, URLResolver):
            if pattern.namespace != "admin":
                inner = f"{space}{pattern.namespace}:" if pattern.namespace else space
                yield from addresses(pattern.url_patterns, prefix + _route(pattern), inner)
        else:
            arguments = tuple(pattern.pattern.converters)
            yield Address(f"{space}{pattern.name}", prefix + _route(pattern), arguments)


def admin_paths() -> Iterator[str]:
    """Return a path for each pattern of the admin, with 1 for every object."""
    for pattern in get_resolver().url_patterns:
        if isinstance(pattern, URLResolver) and pattern.namespace == "admin":
            yield from _filled(pattern, f"/{_route(pattern)}")


def _filled(resolver: URLResolver, prefix: str) -> Iterator[str]:
    for pattern in resolver.url_patterns:
        plain = isinstance(pattern.pattern, RoutePattern)
        path = prefix + (_route(pattern) if plain else "no/such/page/")
        for word in pattern.pattern.converters:
            path = path.replace(f"<{word}>", "1")
        if isinstance(pattern, URLResolver):
            yield from _filled(pattern, path)
        else:
            yield path


def _route(pattern: URLPattern | URLResolver) -> str:
    """Return the pattern's path, with `<word>` where an argument stands."""
    route = str(pattern.pattern)
    for word, converter in pattern.pattern.converters.items():
        kind = type(converter).__name__.removesuffix("Converter").lower()
        kind = "str" if kind == "string" else kind
        route = route.replace(f"<{kind}:{word}>", f"<{word}>")
    return route


def text_of(response: Any) -> str:
    """Return all that the answer tells: its headers, and its body unless that is a document."""
    streaming = getattr(response, "streaming", False)
    body = b"".join(response.streaming_content) if streaming else response.content
    return f"{dict(response.headers)}\n{body.decode(errors='replace')}"


def browser_of(person: User | None) -> Client:
    client = Client(headers={"Accept": "text/html"})
    if person is not None:
        client.force_login(person)
    return client


def program_of(person: User) -> Callable[[], Client]:
    """Make a token; return what makes clients that send it."""
    token = tokens.issue(person.memberships.get(), name="A program")
    return lambda: Client(headers={"Authorization": f"Bearer {token}"})


def leads_to_login(response: HttpResponseBase) -> bool:
    return response.status_code == 302 and "/login" in response.headers["Location"]


def all_rows() -> dict[str, list[dict[str, Any]]]:
    """Return every row of our own tables, to be compared with what is there later."""
    ours = [model for model in apps.get_models() if model._meta.app_label in _OURS]
    return {model._meta.label: _rows(model) for model in ours if not model._meta.proxy}


_OURS = {"invoices", "deliveries"}


def _rows(model: type[models.Model]) -> list[dict[str, Any]]:
    return list(model._default_manager.order_by("pk").values())
