"""So that ``python -m nica`` is the command line too; and Ctrl-C while it loads shows no traceback."""

import signal


def main() -> None:
    """Load the command line and run it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from nica.cli import main as run

    signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


if __name__ == "__main__":
    main()
