/* SPDX-License-Identifier: BSD-3-Clause */
/* A program with a library of its own, for tests of rzrun --preload; it says what it was brought.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int preload_answer(void);

int main(int argc, char **argv)
{
    const char *folder = getenv("RZ_PRELOAD_DIR");
    char here[1024];
    (void)argc;
    printf("answer %d of %s in %s at %s\n", preload_answer(), argv[0], folder ? folder : "none",
           getcwd(here, sizeof(here)) ? here : "none");
    return 0;
}
