"""Whom owners invite, what the invited enter, and what people call their tokens."""

from typing import Any

from django import forms
from django.contrib.auth import password_validation
from django.contrib.auth.models import User
from django.utils.translation import gettext_lazy as _

from invoices import addresses, validation
from invoices.models import Member

ROLES = (
    (Member.Role.OWNER, _("Owner")),
    (Member.Role.MEMBER, _("Member")),
    (Member.Role.VIEWER, _("Viewer")),
)


class InvitationForm(forms.Form):
    email = forms.CharField(
        label=_("E-mail address"),
        # It becomes the user name, which has no more room.
        max_length=150,
        validators=[addresses.one_address],
        widget=forms.TextInput(
            attrs={"inputmode": "email", "autocomplete": "off", "spellcheck": "false"}
        ),
    )
    role = forms.ChoiceField(
        label=_("Role"),
        choices=ROLES,
        initial=Member.Role.MEMBER,
        help_text=_(
            "Owners may do everything, also change settings and members. Members send and change "
            "invoices and customers. Viewers only look."
        ),
    )

    def clean_email(self) -> str:
        return str(self.cleaned_data["email"]).lower()


class NewAccountForm(forms.Form):
    """A password for the account of the invited address, typed twice."""

    password = forms.CharField(
        label=_("Password"),
        strip=False,
        max_length=512,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=_("At least 12 characters, and not one that many people use."),
    )
    again = forms.CharField(
        label=_("The same password again"),
        strip=False,
        max_length=512,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def __init__(self, *args: Any, email: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._user = User(username=email, email=email)

    def clean_password(self) -> str:
        password = str(self.cleaned_data["password"])
        password_validation.validate_password(password, self._user)
        return password

    def clean(self) -> None:
        typed = {name: self.cleaned_data.get(name) for name in ("password", "again")}
        if all(typed.values()) and typed["password"] != typed["again"]:
            self.add_error("again", _("The two passwords are not the same."))


class TokenForm(forms.Form):
    name = forms.CharField(
        label=_("Name"),
        max_length=100,
        validators=[validation.one_line],
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}),
        help_text=_("Which program it is for."),
    )
