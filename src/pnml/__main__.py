"""``python -m pnml``: the command line, where the command ``pnml`` is not on the path."""

from pnml.cli import main

if __name__ == "__main__":
    main()
