# SPDX-License-Identifier: BSD-3-Clause
"""Jobs under rzrun --rewind in which a rank fails: for rewind_test.py and rewind_files_test.py."""
import re
import tempfile

import rewind_programs as programs
rig = programs.rig

EVERY = ("--rewind", "20ms")
BY_CALL = ("--rewind", "1h")  # only RZ_Rewind_now


class Rewind(rig.LaunchTest):
    def job(self, *line, status=0, options=EVERY, kill=None, ranks=4, nodes=2, data=None, **streams):
        report = f"{self.folder}/report"
        line = ("--oversubscribe", "-n", str(ranks), "--nodes", str(nodes), "--timeout", rig.HANG, "--report", report, *options, *line)
        more = {"environment": {"RZ_KILL_AT": kill} if kill else None, "data": data and data(), **streams}
        result = self.run_it(*line, **more) if status is None else self.runs(*line, status=status, **more)
        with open(report) as events:
            result.events = events.read()
        return result

    def count(self, result, event):
        return len(re.findall(f"event={event} ", result.events))

    def killed(self, line, kill="stored:2@1", **how):
        """Runs line(steps) with more and more steps until a rank has come to that place, and all have gone back to an image."""
        for steps in (100, 400, 1600, 6400):
            result = self.job(*line(steps), kill=kill, status=None, **how)
            if self.count(result, "restored") > 0:
                self.assertEqual(result.status, 0, result.out + result.err)
                return steps, result
            # 137: on a busy machine the place was reached when the program had ended.
            self.assertIn(result.status, (0, 137), result.out + result.err)
        return self.fail(f"there was never a failure at {kill}:\n{result.events}")


class State(Rewind):
    """Modes of rewind_state, each of which says the same however often it is restored."""
    PROGRAM = rig.program("rewind_state")
    def own_folder(self):
        return tempfile.mkdtemp(dir=self.folder)

    def restored(self, *modes, nodes=2, **how):
        names = ",".join(modes)
        steps, result = self.killed(lambda steps: (self.PROGRAM, names, str(steps), self.own_folder()), nodes=nodes, ranks=3, **how)
        self.assertEqual(sorted(result.out.splitlines()), sorted(self.job(self.PROGRAM, names, str(steps), self.own_folder(), options=(), ranks=3,
                                                                          nodes=1).out.splitlines()))
        return result
