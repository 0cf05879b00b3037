"""The organization's settings: who sees and changes them, and what may be entered."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from invoices.models import Organization
from tests import factories
from tests.reading import text

FIELDS = {
    "name": "Mainland Supplies Ltd",
    "sender_name": "",
    "email": "billing@mainland-supplies.example",
    "address": "14 Broad Street\r\nLagos",
    "tax_id": "",
    "payment_details": "",
    "language": "en-NG",
    "time_zone": "Africa/Lagos",
}


def seen(client: Client) -> str:
    found = re.search(r'name="seen" value="([^"]+)"', text(client.get("/settings")))
    assert found is not None
    return found[1]


def save(client: Client, **values: str) -> Any:
    return client.post("/settings", FIELDS | {"seen": seen(client)} | values)


def test_an_owner_changes_the_settings(as_owner: Client, organization: Organization) -> None:
    answer = save(
        as_owner,
        sender_name='Sol, Inc "Ventas" (BR)',
        email="rechnung@müller.example",
        language="pt-BR",
        time_zone="America/Sao_Paulo",
        payment_details="IBAN\nBR15",
    )
    assert answer.headers["Location"] == "/settings"
    organization.refresh_from_db()
    assert organization.sender_name == 'Sol, Inc "Ventas" (BR)'
    assert organization.email == "rechnung@müller.example"
    assert (organization.language, organization.time_zone) == ("pt-BR", "America/Sao_Paulo")
    page = text(as_owner.get("/settings"))
    assert '<option value="pt-BR" selected>Portuguese (Brazil)</option>' in page
    assert '<option value="America/Sao_Paulo" selected>Sao Paulo</option>' in page


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", "a\nBcc: b"),
        ("name", "x" * 241),
        ("sender_name", "a\r\nBcc: b"),
        ("sender_name", "a\u202eb"),
        ("email", ""),
        ("email", "jörg@firma.example"),
        ("email", "a@b.example, c@d.example"),
        ("address", "a\x07"),
        ("address", "x" * 2_001),
        ("tax_id", "a\nb"),
        ("payment_details", "a\x1b"),
        ("language", "xx-XX"),
        ("time_zone", "Mars/Olympus"),
        ("time_zone", ""),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_saved(
    as_owner: Client, organization: Organization, field: str, value: str
) -> None:
    page = text(save(as_owner, **{"tax_id": "TIN 1", field: value}))
    assert 'class="errorlist"' in page
    organization.refresh_from_db()
    assert organization.tax_id == ""
    assert "Mainland Supplies Ltd" in page


def test_an_unusual_language_or_an_old_zone_is_kept(
    as_owner: Client, organization: Organization
) -> None:
    Organization.objects.update(language="zh-hans", time_zone="Asia/Calcutta")
    page = text(as_owner.get("/settings"))
    assert '<option value="zh-hans" selected>' in page
    assert '<option value="Asia/Calcutta" selected>' in page


def test_the_second_of_two_owners_is_told(as_owner: Client, organization: Organization) -> None:
    shown = seen(as_owner)
    Organization.objects.update(language="fr")
    form = FIELDS | {"seen": shown, "language": "de"}
    page = text(as_owner.post("/settings", form))
    assert "Somebody else has changed this meanwhile" in page
    assert "There is now: “French”" in page
    organization.refresh_from_db()
    assert organization.language == "fr"


def test_reminder_settings_are_no_part_of_it(as_owner: Client, organization: Organization) -> None:
    shown = seen(as_owner)
    Organization.objects.update(reminders_enabled=False)
    assert as_owner.post("/settings", FIELDS | {"seen": shown, "tax_id": "1"}).status_code == 302
    organization.refresh_from_db()
    assert not organization.reminders_enabled


def test_all_settings_pages_lead_to_each_other(as_owner: Client) -> None:
    pages = ["/settings", "/settings/texts", "/settings/reminders"]
    pages += ["/settings/members", "/settings/tokens"]
    for address in pages:
        page = text(as_owner.get(address))
        for other in pages:
            assert f'href="{other}"' in page
        assert f'href="{address}" aria-current="page"' in page
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", page)


def test_a_member_and_a_viewer_look_and_change_nothing(
    client: Client, viewer: User, organization: Organization
) -> None:
    for user in (viewer, factories.make_member(organization, "member")):
        client.force_login(user)
        page = text(client.get("/settings"))
        assert "Owners of the organization can change this." in page
        assert "English (Nigeria)" in page
        assert 'href="/settings/members"' not in page
        assert client.post("/settings", FIELDS).status_code == 403


def test_an_outsider_sees_the_own_organization(
    client: Client, outsider: User, organization: Organization
) -> None:
    client.force_login(outsider)
    page = text(client.get("/settings"))
    assert "Nordlicht" in page
    assert "Mainland" not in page


def test_strangers_are_led_to_the_login(client: Client) -> None:
    for address in ("/settings", "/settings/texts", "/settings/members", "/settings/tokens"):
        assert client.get(address).headers["Location"] == f"/login?next={address}"


def test_other_methods_are_refused(as_owner: Client) -> None:
    assert as_owner.delete("/settings").status_code == 405
