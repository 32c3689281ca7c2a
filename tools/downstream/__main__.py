# SPDX-License-Identifier: BSD-3-Clause
"""python3 -B tools/downstream"""
import os
import sys

TOOLS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:1] = [TOOLS, f"{TOOLS}/../lab"]
from downstream.main import main  # noqa: E402

sys.exit(main())
