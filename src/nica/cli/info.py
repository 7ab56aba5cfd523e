"""`nica info`: how this installation is configured."""

from __future__ import annotations

import nica


def info() -> None:
    """Show versions, the CPU's abilities and which of them are used."""
    nica.show_config()
