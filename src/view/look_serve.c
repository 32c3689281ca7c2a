/* SPDX-License-Identifier: BSD-3-Clause */
/* The end on each host: reads questions, and answers each with the documents of the daemons there.
 */
#include "view/look_serve.h"

#include "base/no_memory.h"
#include "view/look.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* It ends after this time without a question. */
enum { IDLE_S = 900 };

static json_t *answer_to(const char *line)
{
    json_t *question = json_loads(line, 0, NULL), *pages = json_array();
    const char *prefix = json_string_value(json_object_get(question, "prefix"));
    bool all_users = json_is_true(json_object_get(question, "all"));
    rz_need_memory(pages, "for the documents of jobs");
    if (rz_look(prefix, all_users, pages) != RZ_OK) {
        json_decref(pages);
        pages = json_pack("{s:s}", "error", "its sockets cannot be listed: is /proc mounted?");
    }
    json_decref(question);
    return pages;
}

int rz_look_serve(void)
{
    char *line = NULL;
    size_t room = 0;
    bool good = true;
    alarm(IDLE_S);
    while (good && getline(&line, &room, stdin) > 0) {
        alarm(IDLE_S);
        json_t *answer = answer_to(line);
        char *text = json_dumps(answer, JSON_COMPACT | JSON_REAL_PRECISION(6));
        rz_need_memory(text, "for the documents of jobs");
        printf("%s%s\n", RZ_LOOK_MARK, text);
        good = fflush(stdout) == 0;
        free(text);
        json_decref(answer);
    }
    free(line);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
