"""`python -m whisk.daemon`."""

import sys

from whisk.daemon.main import main

if __name__ == "__main__":
    sys.exit(main())
