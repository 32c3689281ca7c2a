# SPDX-License-Identifier: BSD-3-Clause
"""The programs that are rewound, and what one job of them left: for rewind_campaign.py and rewind_jobs.py. None of them knows of failures;
each says the same again if it is run again."""
import collections
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{HERE}/../launch")
import launch_rig as rig  # noqa: E402

# words(size, folder): the program's command line. size: its length as the driver chooses it; usual: what takes about a second.
Program = collections.namedtuple("Program", "words usual ranks nodes")
TESTS, APPS = f"{rig.BUILD}/tests", f"{rig.BUILD}/apps"
COMD = "-x", "8", "-y", "8", "-z", "8", "--temperature", "20000", "--method", "plain", "--iterations"

PROGRAMS = {
    "torture": Program(lambda size, folder: [f"{TESTS}/rewind_torture", str(size), "7"], 60, 4, (1, 2, 4)),
    "threads": Program(lambda size, folder: [f"{TESTS}/rewind_threads", str(size)], 1000, 4, (1, 2, 4)),
    "pages": Program(lambda size, folder: [f"{TESTS}/rewind_pages", str(size)], 300, 2, (1, 2)),
    "reinit": Program(lambda size, folder: [f"{TESTS}/rewind_reinit", str(size)], 1000, 4, (1, 2, 4)),
    "c": Program(lambda size, folder: [f"{TESTS}/rewind_c", str(size), folder], 300, 4, (1, 2, 4)),
    "c++": Program(lambda size, folder: [f"{TESTS}/rewind_cxx", str(size)], 300, 4, (1, 2, 4)),
    "fortran": Program(lambda size, folder: [f"{TESTS}/rewind_fortran", str(size), folder], 300, 4, (1, 2, 4)),
    "openmp": Program(lambda size, folder: [f"{TESTS}/rewind_omp", str(size)], 300, 4, (1, 2, 4)),
    "python": Program(lambda size, folder: [sys.executable, "-B", f"{HERE}/rewind_ctypes.py", f"{rig.BUILD}/lib/libmpi_abi.so.1", str(size),
                                              folder],
                      300, 4, (1, 2, 4)),
    "hpccg": Program(lambda size, folder: [f"{APPS}/hpccg", "12", "12", "12", "--method", "plain", "--iterations", str(size)], 300, 8, (4,)),
    "comd": Program(lambda size, folder: [f"{APPS}/comd", *COMD, str(size)], 50, 8, (4,)),
    "lulesh": Program(lambda size, folder: [f"{APPS}/lulesh", "-s", "4", "--print-every", "20", "--method", "plain", "--iterations", str(size)],
                      100, 8, (4,)),
}
FILES = {"c++": "rewind_cxx", "fortran": "rewind_fortran", "openmp": "rewind_omp", "c": "rewind_c", "reinit": "rewind_reinit", "torture": "rewind_torture",
         "threads": "rewind_threads", "pages": "rewind_pages"}


def there():
    """Those that this build has."""
    def built(name):
        path = f"{TESTS}/{FILES[name]}" if name in FILES else f"{APPS}/{name}" if name != "python" else sys.executable
        return os.access(path, os.X_OK)
    return {name: program for name, program in PROGRAMS.items() if built(name)}
