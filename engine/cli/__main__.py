"""`python -m grantpath.engine.cli`: the command `grantpath` without the installed script."""

import sys

from grantpath.engine.cli.start import main

sys.exit(main())
