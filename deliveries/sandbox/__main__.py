"""`python -m deliveries.sandbox`: the sandbox provider without Django."""

import argparse
import sys

from deliveries.sandbox.serving import CannotServe, add_arguments, from_options, serve


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m deliveries.sandbox")
    add_arguments(parser)
    options = parser.parse_args()
    try:
        serve(from_options(vars(options)), announce=_announce)
    except CannotServe as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _announce(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
