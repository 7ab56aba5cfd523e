"""So that ``python -m nica`` is the command line too."""

from nica.cli import main

main()
