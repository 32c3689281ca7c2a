#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Daemons with few descriptors: the job is right, or it is said that they are too few. No rank is killed for what another lacks."""
import resource

import launch_rig as rig


class Descriptors(rig.LaunchTest):
    def test_as_few_as_can_be(self):
        """From too few to start, over too few for checkpoints, to enough; a daemon gets those of all its ranks."""
        right = said = 0
        for limit in range(76, 124, 3):
            with self.subTest(limit=limit):
                result = self.run_it("-n", "8", "--oversubscribe", rig.program("checkpoint_job"), "6", "100", "true",
                                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
                self.assertNotRegex(result.err, r"message on its link|breaks the link protocol|assertion failed", result.err)
                if result.status == 0:
                    right += 1
                else:
                    self.assertIn("ulimit -", result.err)
                    said += 1
        self.assertGreater(right, 0)
        self.assertGreater(said, 0)


if __name__ == "__main__":
    rig.main()
