"""The second step of logging in, for staff: a code from an authenticator app, or a backup code."""
