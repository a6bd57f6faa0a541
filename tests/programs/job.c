/* A job of the torture: it notes when it was last alive, in a file of its own, until its time is over. C, because
 * dozens of them share two processors with what they measure.
 *
 * job FOLDER MILLISECONDS CODE SHAPE
 *   works for so long, ends with CODE. SHAPE is a word of letters: c a child works beside it; d one does so as a
 *   daemon (new session, orphaned); s nothing but KILL ends them; l a daemon is left that would work for a minute.
 * job - MILLISECONDS CODE SHAPE
 *   burns a processor for so long.
 *
 * FOLDER/RUN.PID, with the environment's TORTURE_RUN and what redlease says, in one line:
 *   top token slot fence first last end
 * Times are CLOCK_BOOTTIME in nanoseconds; end is -1 until it came to its own end. */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static unsigned long long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_BOOTTIME, &time);
    return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static const char *given(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : "-";
}

static void work(const char *folder, unsigned long long until, int code, int top)
{
    char path[4096], line[512];
    struct timespec tick = {0, 5000000};
    unsigned long long first = now();
    snprintf(path, sizeof path, "%s/%s.%d", folder, given("TORTURE_RUN"), (int)getpid());
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
        _exit(99);
    for (;;) {
        unsigned long long at = now();
        int over = at >= until;
        int length = snprintf(line, sizeof line, "%d %s %s %s %020llu %020llu %4d\n", top, given("REDLEASE_TOKEN"),
            given("REDLEASE_SLOT"), given("REDLEASE_FENCE"), first, at, over ? code : -1);
        if (pwrite(file, line, length, 0) != length)
            _exit(99);
        if (over)
            _exit(code);
        nanosleep(&tick, 0);
    }
}

static void daemon_works(const char *folder, unsigned long long until)
{
    if (fork() == 0) {
        setsid();
        if (fork() == 0)
            work(folder, until, 0, 0);
        _exit(0);
    }
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 98;
    unsigned long long until = now() + strtoull(argv[2], 0, 10) * 1000000ULL;
    const char *folder = argv[1], *shape = argv[4];
    if (strcmp(folder, "-") == 0) {
        while (now() < until)
            ;
        return 0;
    }
    if (strchr(shape, 's'))
        for (int *number = (int[]){SIGTERM, SIGHUP, SIGINT, SIGQUIT, 0}; *number; number++)
            signal(*number, SIG_IGN);
    if (strchr(shape, 'd'))
        daemon_works(folder, until);
    if (strchr(shape, 'l'))
        daemon_works(folder, until + 60000000000ULL);
    if (strchr(shape, 'c') && fork() == 0)
        work(folder, until, 0, 0);
    work(folder, until, atoi(argv[3]), 1);
}
