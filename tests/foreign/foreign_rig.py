# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of foreign programs share."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../launch")
import launch_rig as rig  # noqa: E402

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
NOT_ASKED = "the program has not asked to be told of failures"


class ForeignTest(rig.LaunchTest):
    def job(self, *words, status=0, environment=None, **options):
        return self.runs("--oversubscribe", *words, status=status, environment={**AS_ROOT, **(environment or {})}, **options)

    def begin(self, *words, environment=None):
        """A job that says `ready` and waits."""
        process = self.start("--oversubscribe", *words, environment={**AS_ROOT, **(environment or {})})
        self.assertEqual(process.stdout.readline(), b"ready\n", "it does not come up")
        return process

    def gateways(self):
        return [process for process in rig.marked(self.mark) if process.name == "rzgateway"]
