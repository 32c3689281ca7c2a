/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Command lines: that of rzrun with everything behind its options, and the guess which name an
 * unknown word was meant to be. A refusal ends the process; here it ends the case.
 */
#include "cli/cli.h"
#include "fuzz_text.h"
#include "outcome/exit_codes.h"
#include "launch/rzrun_options.h"

#include <netdb.h>
#include <setjmp.h>
#include <stdio.h>

#define WORDS_MAX 24

static jmp_buf refused;
static volatile int status;
_Noreturn void __wrap_exit(int code);
_Noreturn void __real_exit(int code);
static volatile bool inside;

/* No question goes to the network: no name is known. */
int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                       struct addrinfo **found);
int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                       struct addrinfo **found)
{
    (void)node, (void)service, (void)hints, (void)found;
    return EAI_NONAME;
}

_Noreturn void __wrap_exit(int code)
{
    if (!inside) {
        __real_exit(code);
    }
    status = code;
    longjmp(refused, 1);
}

static void look(const struct rz_rzrun_options *options)
{
    const struct rz_launch_layout *layout = &options->layout;
    rz_fuzz_holds(options->n_ranks >= 1 && options->n_ranks <= RZ_RANKS_MAX);
    rz_fuzz_holds(layout->n_nodes >= 1 && layout->n_nodes <= RZ_NODES_MAX);
    rz_fuzz_holds(layout->n_ranks == options->n_ranks);
    for (uint32_t i = 0; i < layout->n_ranks; i++) {
        rz_fuzz_holds(layout->placement[i] < layout->n_nodes);
    }
    rz_fuzz_holds(options->hb_timeout > options->hb_period && options->hb_period > 0);
    rz_fuzz_holds(options->n_faults <= RZ_FAULTS_MAX);
    for (uint32_t i = 0; i < options->environment.n; i++) {
        rz_fuzz_holds(strchr(options->environment.texts[i], '=') > options->environment.texts[i]);
    }
    uint32_t n_ranks = 0;
    for (uint32_t i = 0; i < options->n_contexts; i++) {
        const struct rz_context *part = &options->contexts[i];
        rz_fuzz_holds(part->program[0] && part->n_ranks > 0);
        for (uint32_t k = 0; k < part->environment.n; k++) {
            rz_fuzz_holds(strchr(part->environment.texts[k], '=') > part->environment.texts[k]);
        }
        n_ranks += part->n_ranks;
    }
    rz_fuzz_holds(n_ranks == options->n_ranks);
}

/* The arguments in the input, each up to a NUL; a block of its own for each. */
static int split(const uint8_t *data, size_t size, char **words)
{
    int n = 0;
    words[n++] = rz_fuzz_text((const uint8_t *)"rzrun", 5);
    while (size > 0 && n < WORDS_MAX) {
        const uint8_t *end = memchr(data, 0, size);
        size_t length = end ? (size_t)(end - data) : size;
        words[n] = rz_fuzz_text(data, length);
        for (char *at = words[n]; *at; at++) {
            if (*at == '/') {
                *at = '_'; /* a hostfile that never ends is the user's */
            }
        }
        n++;
        data += length + (end != NULL);
        size -= length + (end != NULL);
    }
    words[n] = NULL;
    return n;
}

static void check_nearest(const char *word)
{
    static const char *const names[] = {"--hostfile", "--inject", "--nodes", "-n", "", NULL};
    const char *nearest = rz_cli_nearest(word, names);
    bool one = !nearest;
    for (uint32_t i = 0; names[i]; i++) {
        one = one || nearest == names[i];
        rz_fuzz_holds(strcmp(word, names[i]) != 0 || nearest == names[i]);
    }
    rz_fuzz_holds(one);
}

/* The exit status of a refusal, or -1. */
static int read_line(struct rz_rzrun_options *options, int n, char **words)
{
    static FILE *nowhere;
    FILE *volatile out = stdout, *volatile err = stderr;
    if (!nowhere) {
        nowhere = fopen("/dev/null", "w");
    }
    stdout = stderr = nowhere;
    inside = true;
    if (setjmp(refused) == 0) {
        rz_rzrun_options_read(options, n, words);
        status = -1;
    }
    inside = false;
    stdout = out, stderr = err;
    if (status == 0) {
        nowhere = NULL; /* a page was printed, and its stream closed */
    }
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rz_rzrun_options options = {0};
    char *words[WORDS_MAX + 1];
    int n = split(data, size, words);
    int code = read_line(&options, n, words);
    rz_fuzz_holds(code == -1 || code == 0 || code == RZ_EXIT_USAGE || code == RZ_EXIT_SLOTS);
    if (code == -1) {
        look(&options);
    }
    rz_rzrun_options_clear(&options);
    for (int i = 1; i < n; i++) {
        check_nearest(words[i]);
    }
    for (int i = 0; i < n; i++) {
        free(words[i]);
    }
    return 0;
}

/* Arguments with blanks between; a NUL replaces each `|`. */
static const char *const texts[] = {
    "-n|4|./program|argument",
    "-np|4|--nodes|2|--|./program",
    "--nodes=3|--inject=kill node 1 at 2s|--inject|every 1s kill random rank|p",
    "--host|localhost:2,127.0.0.1:2|--oversubscribe|-n|9|p",
    "--hb-period|50ms|--hb-timeout=200ms|--timeout|1m|--seed|7|-l|-v|-v|p|-x|A",
    "-x|A=b|-x|PATH|--wdir|here|--report|file|--story|--progress|--bind-to|none|p",
    "--on-failure|continue|--max-restarts|3|p",
    "--hostfile|nowhere|p",
    "--host|localhost:65536,localhost:65536|p",
    "--help",
    "--version",
    "--man",
    "--completion|zsh",
    "--hostfil",
    NULL};
static const char *const words_of_grammar[] = {"-n",
                                               "--nodes",
                                               "--host",
                                               "=",
                                               "--inject",
                                               "--hb-period",
                                               "--hb-timeout",
                                               "-x",
                                               "--seed",
                                               "--",
                                               "-",
                                               "kill rank 0 at 1s",
                                               "localhost:3",
                                               ",",
                                               "10ms",
                                               "65537",
                                               "0",
                                               "-1",
                                               "p",
                                               "--spare",
                                               "--map-by",
                                               NULL};

static size_t seed(uint32_t number, uint8_t *bytes, size_t max)
{
    size_t n = rz_fuzz_seed_text(texts, number, bytes, max);
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == '|') {
            bytes[i] = 0;
        }
    }
    return n;
}

const struct rz_fuzz_target rz_fuzz_target = {.name = "fuzz_cli_line",
                                              .input_max = 512,
                                              .memory_fixed = 2u << 20,
                                              .memory_factor = 512,
                                              .seed = seed,
                                              .words = words_of_grammar};
