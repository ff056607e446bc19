"""`python3 scripts/compare` writes `docs/benchmarks/` and `docs/plots/*.svg` from one run."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from compare.report import main  # noqa: E402

main()
