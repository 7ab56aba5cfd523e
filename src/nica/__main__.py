"""So that ``python -m nica`` is the command line too; and Ctrl-C while it loads shows no traceback."""

import signal


def main() -> None:
    """Load the command line and run it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # until the verb begins
    from nica.cli import main as run

    run()


if __name__ == "__main__":
    main()
