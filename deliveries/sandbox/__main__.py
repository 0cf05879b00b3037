"""`python -m deliveries.sandbox`: the sandbox provider without Django."""

import argparse
import sys

from deliveries.sandbox.provider import SandboxProvider
from deliveries.sandbox.serving import CannotServe, add_arguments, serve


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m deliveries.sandbox")
    add_arguments(parser)
    options = parser.parse_args()
    provider = SandboxProvider(
        options.data, options.port, host=options.host, api_key=options.api_key
    )
    try:
        serve(provider, announce=_announce)
    except CannotServe as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _announce(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
