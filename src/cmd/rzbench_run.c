/* One command: started, listened to, bounded, and cleared away. */
#include "cmd/rzbench.h"

#include "base/assert.h"
#include "port/clock.h"
#include "port/process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_MAX = 4 << 20, EXIT_NOT_FOUND = 127 };

volatile sig_atomic_t rz_bench_interrupted;

/* Between asking a launcher to end and killing all that it started. */
#define GRACE (2 * RZ_SECOND)

/* Between two looks of a watch. */
#define LOOK (20 * RZ_MILLISECOND)

void rz_bench_command_add(struct rz_bench_command *command, const char *format, ...)
{
    va_list list;
    rz_assert(command->n < RZ_BENCH_ARGUMENTS_MAX);
    char *word = command->text + command->used;
    size_t room = sizeof command->text - command->used;
    va_start(list, format);
    int length = vsnprintf(word, room, format, list);
    va_end(list);
    rz_assert(length >= 0 && (size_t)length < room);
    command->used += (size_t)length + 1;
    command->argv[command->n++] = word;
    command->argv[command->n] = NULL;
}

/* What a reader can type: without the folders that this run happens to use. */
static const char *shortened(const struct rz_bench *bench, const char *word)
{
    const char *const folders[] = {bench->bin, bench->folder, bench->sources};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        size_t length = strlen(folders[i]);
        if (length > 0 && strcmp(word, folders[i]) == 0)
            return ".";
        if (length > 0 && strncmp(word, folders[i], length) == 0 && word[length] == '/')
            return word + length + 1;
    }
    return word;
}

void rz_bench_command_show(const struct rz_bench *bench, const struct rz_bench_command *command,
                           char *out, size_t bytes)
{
    size_t used = 0;
    out[0] = 0;
    for (unsigned i = 0; i < command->n && used < bytes; i++) {
        const char *word = shortened(bench, command->argv[i]);
        const char *quote = strpbrk(word, " *?;&<>()$") ? "'" : "";
        used += (size_t)snprintf(out + used, bytes - used, "%s%s%s%s", i > 0 ? " " : "", quote,
                                 word, quote);
    }
}

static double cpu_of_children_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 +
           (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6;
}

static _Noreturn void become(const struct rz_bench_command *command, pid_t parent, int output)
{
    signal(SIGPIPE, SIG_DFL);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    close(STDIN_FILENO);
    if (setpgid(0, 0) != 0 || rz_process_fail_with_parent(parent, SIGTERM) != RZ_OK)
        _exit(EXIT_NOT_FOUND);
    execvp(command->argv[0], command->argv);
    dprintf(STDERR_FILENO, "%s: %s\n", command->argv[0], strerror(errno));
    _exit(EXIT_NOT_FOUND);
}

/* Descendants that outlived the command are ours by adoption. */
static void clear_away(void)
{
    rz_process_clear(10 * RZ_SECOND);
}

/* Takes what there is to read; false at the end of the output. */
static bool take_output(int from, char *output, size_t *used)
{
    char spare[4096];
    bool full = *used == OUTPUT_MAX;
    ssize_t n =
        full ? read(from, spare, sizeof spare) : read(from, output + *used, OUTPUT_MAX - *used);
    if (n <= 0)
        return n < 0 && (errno == EINTR || errno == EAGAIN);
    if (!full)
        *used += (size_t)n;
    output[*used] = 0;
    return true;
}

/*
 * Listens until pid ended, or until the time is over; true: it ended. Output may be held open by
 * what it left behind: the end of pid counts, not the end of the output.
 */
static bool listen_until(pid_t pid, int pidfd, int from, rz_time until,
                         const struct rz_bench_watch *watch, struct rz_bench_run *run)
{
    size_t used = strlen(run->output);
    bool open = true;
    for (;;) {
        rz_time now = rz_clock_now(), look = watch || pidfd < 0 ? now + LOOK : until;
        int status;
        look = look < until ? look : until;
        if (watch && watch->enough(watch->arg)) {
            run->end = RZ_BENCH_ENOUGH;
            return false;
        }
        struct pollfd fds[2] = {{.fd = open ? from : -1, .events = POLLIN},
                                {.fd = pidfd, .events = POLLIN}};
        if (now >= until || rz_bench_interrupted)
            return false;
        if (poll(fds, 2, (int)((look - now) / RZ_MILLISECOND) + 1) < 0 && errno != EINTR)
            return false;
        if (open && fds[0].revents)
            open = take_output(from, run->output, &used);
        else if ((fds[1].revents || pidfd < 0) && waitpid(pid, &status, WNOHANG) == pid) {
            run->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
            return true;
        }
    }
}

static pid_t start(const struct rz_bench_command *command, int *from, int *pidfd)
{
    int ends[2];
    if (pipe(ends) != 0)
        return -1;
    rz_process_keep_on_exec(ends[0], false);
    fflush(NULL);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        become(command, parent, ends[1]);
    close(ends[1]);
    *from = ends[0];
    *pidfd = -1;
    rz_status_t status = pid > 0 ? rz_process_open(pid, pidfd) : RZ_ERR_SYSTEM;
    if (status == RZ_OK || status == RZ_ERR_UNSUPPORTED) /* without, it is looked for */
        return pid;
    close(ends[0]);
    clear_away();
    return -1;
}

static void show_progress(struct rz_bench *bench, const struct rz_bench_command *command)
{
    char text[160];
    bench->runs++;
    if (!isatty(STDERR_FILENO))
        return;
    rz_bench_command_show(bench, command, text, sizeof text);
    fprintf(stderr, "\r\033[K%u: %.100s", bench->runs, text);
}

void rz_bench_run(struct rz_bench *bench, const struct rz_bench_command *command, rz_time limit,
                  struct rz_bench_run *run)
{
    rz_bench_run_watched(bench, command, limit, NULL, run);
}

void rz_bench_run_watched(struct rz_bench *bench, const struct rz_bench_command *command,
                          rz_time limit, const struct rz_bench_watch *watch,
                          struct rz_bench_run *run)
{
    int from, pidfd;
    double cpu_before_s = cpu_of_children_s();
    rz_time begin = rz_clock_now(), until = begin + (limit ? limit : bench->limit);
    bool cut_short = bench->deadline && bench->deadline < until;
    *run = (struct rz_bench_run){.status = EXIT_NOT_FOUND, .output = malloc(OUTPUT_MAX + 1)};
    rz_assert(run->output);
    run->output[0] = 0;
    show_progress(bench, command);
    pid_t pid = start(command, &from, &pidfd);
    if (pid < 0)
        return;
    if (!listen_until(pid, pidfd, from, cut_short ? bench->deadline : until, watch, run)) {
        cut_short = run->end != RZ_BENCH_ENOUGH && (cut_short || rz_bench_interrupted);
        if (run->end != RZ_BENCH_ENOUGH)
            run->end = cut_short ? RZ_BENCH_OUT_OF_TIME : RZ_BENCH_OVER;
        bench->budget_used_up = bench->budget_used_up || cut_short;
        kill(pid, SIGTERM);
        listen_until(pid, pidfd, from, rz_clock_now() + GRACE, NULL, run);
    }
    run->wall_s = (double)(rz_clock_now() - begin) / 1e9;
    clear_away();
    run->cpu_s = cpu_of_children_s() - cpu_before_s;
    close(from);
    if (pidfd >= 0)
        close(pidfd);
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}

void rz_bench_run_free(struct rz_bench_run *run)
{
    free(run->output);
    run->output = NULL;
}

const char *rz_bench_line(const struct rz_bench_run *run, const char *prefix, const char *after)
{
    size_t length = strlen(prefix);
    const char *at = after ? strchr(after, '\n') : run->output;
    while (at && *at) {
        at += *at == '\n';
        if (strncmp(at, prefix, length) == 0 && at[length] == ' ')
            return at + length + 1;
        at = strchr(at, '\n');
    }
    return NULL;
}
