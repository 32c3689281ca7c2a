/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rzrun --trace FILE: the traces of all processes and daemons in one file, in the JSON format of
 * Chrome's trace viewer, which Perfetto reads. A process of the file is a rank's process or a
 * daemon. The file appears whole, at the end.
 */
#ifndef RZ_LAUNCH_TRACE_FILE_H
#define RZ_LAUNCH_TRACE_FILE_H

#include "port/outfile.h"
#include "launch/traces.h"

#include <stdint.h>

struct rz_trace_file {
    struct rz_outfile out; /* file NULL: not requested */
    uint32_t n_processes, n_attempts;
    uint64_t n_lost;
    bool begun; /* something is in the list of events */
};

/* False: *why. */
bool rz_trace_file_open(struct rz_trace_file *file, const char *path, const char **why);

/* At the end of an attempt of the job: all rings. */
void rz_trace_file_add(struct rz_trace_file *file, const struct rz_traces *traces, uint64_t job);

/* False: it could not be written, *why. */
bool rz_trace_file_close(struct rz_trace_file *file, const char **why);

#endif
