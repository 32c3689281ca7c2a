/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this component share. */
#ifndef RZ_CLI_CLI_PRIVATE_H
#define RZ_CLI_CLI_PRIVATE_H

#include "cli/cli.h"

/* The options of every command; a table that ends as all do. */
extern const struct rz_cli_option rz_cli_common[];

/* The k-th table of a command's own options; NULL: there are no more. */
static inline const struct rz_cli_option *rz_cli_table(const struct rz_cli *cli, size_t k)
{
    if (k == 0) {
        return cli->options;
    }
    return cli->more ? cli->more[k - 1] : NULL;
}

/* Whether it is the end of its table. */
static inline bool rz_cli_is_last(const struct rz_cli_option *option)
{
    return !option->name && !option->help;
}

#endif
