/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this component share. */
#ifndef RZ_CLI_CLI_PRIVATE_H
#define RZ_CLI_CLI_PRIVATE_H

#include "cli/cli.h"

/* The options of every command; a table that ends as all do. */
extern const struct rz_cli_option rz_cli_common[];

#endif
