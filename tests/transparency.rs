//! The job is what it would be without redlease: the same script looks at itself under a run and directly, and
//! both must see the same.

use crate::harness::{Redis, Redlease};

/// Prints what a process has inherited. What differs between any two processes is left out: ids, the numbers of
/// pipes, times, and artefacts of the kernel's tables.
const LOOK: &str = r#"
    use POSIX; use Cwd;
    opendir(my $dir, "/proc/self/fd"); my $own = fileno($dir) // -1;
    for my $fd (sort { $a <=> $b } grep { /^\d+$/ } readdir($dir)) {
        my $to = readlink("/proc/self/fd/$fd") // next;
        next if $to =~ m{^/proc/\d+/fd$};
        $to =~ s/\[\d+\]/[]/;
        print "fd $fd $to\n";
    }
    open(my $status, "<", "/proc/self/status");
    while (<$status>) {
        print "status $_" if /^(Umask|Uid|Gid|Groups|ShdPnd|SigPnd|SigBlk|SigIgn|SigCgt|Cap\w+|NoNewPrivs|Seccomp|Cpus_allowed_list|CoreDumping|Threads|TracerPid|Speculation\w+)/;
    }
    open(my $limits, "<", "/proc/self/limits"); print "limit $_" while <$limits>;
    for my $file (qw(oom_score_adj cgroup personality coredump_filter timerslack_ns loginuid)) {
        open(my $one, "<", "/proc/self/$file") or next; print "$file $_" while <$one>;
    }
    open(my $stat, "<", "/proc/self/stat"); my $line = <$stat>; $line =~ s/.*\) //; my @stat = split(/ /, $line);
    # Group, session, terminal and its group; priority, nice value and scheduling policy.
    print "stat $_ $stat[$_]\n" for (2, 3, 4, 5, 15, 16, 37, 38);
    print "cwd ", getcwd(), "\n", "argv0 $0\n", "argv @ARGV\n";
    print "env $_=$ENV{$_}\n" for grep { !/^REDLEASE_|^TEST_RUN$/ } sort keys %ENV;
"#;

fn look(redis: &Redis, before: &str) -> (String, String) {
    let run = || {
        Redlease::run("k")
            .on(redis)
            .env("LANG", "C")
            .env("ODD", "a b\nc")
            .folder(redis.folder())
            .after_perl(before)
            .job(["perl", "-e", LOOK, "x y", "", "z"])
    };
    let direct = run().start_directly().exits(0).out();
    let under = run().exits(0).out();
    (direct, under)
}

#[track_caller]
fn same(before: &str) -> String {
    let redis = Redis::start();
    let (direct, under) = look(&redis, before);
    assert!(direct.lines().count() > 40, "{direct}");
    for (direct, under) in direct.lines().zip(under.lines()) {
        assert_eq!(direct, under);
    }
    assert_eq!(direct, under);
    under
}

#[test]
fn in_a_plain_environment() {
    same("1");
}

#[test]
fn in_an_odd_environment() {
    let seen = same(
        "use POSIX; umask(027); POSIX::nice(5); $SIG{$_} = 'IGNORE' for qw(HUP USR1 CHLD TSTP PIPE); \
         sigprocmask(SIG_BLOCK, POSIX::SigSet->new(12, 14, 28)); \
         $^F = 99; open($a, '<', '/dev/zero'); open($b, '>', '/dev/null'); POSIX::dup2(fileno($a), 42)",
    );
    assert!(seen.contains("status Umask:\t0027\n"), "{seen}");
    assert!(seen.contains("fd 42 /dev/zero\n"), "{seen}");
}

#[test]
fn with_a_default_sigpipe_and_low_limits() {
    same(
        "$SIG{PIPE} = 'DEFAULT'; exec('sh', '-c', 'ulimit -n 77; ulimit -c 0; exec \"$@\"', 'sh', @ARGV)",
    );
}

/// Perl puts SIGCHLD and SIGFPE in order for itself, so another program looks at the signals.
#[test]
fn masks_and_dispositions_are_the_callers() {
    let redis = Redis::start();
    let run = |before: &str| {
        Redlease::run("k").on(&redis).after_perl(before).job([
            "grep",
            "-E",
            "^(Sig(Pnd|Blk|Ign|Cgt)|ShdPnd)",
            "/proc/self/status",
        ])
    };
    let odd = "use POSIX; $SIG{$_} = 'IGNORE' for qw(HUP USR1 CHLD TSTP PIPE); \
               sigprocmask(SIG_BLOCK, POSIX::SigSet->new(12, 14, 17, 28))";
    for before in ["1", "$SIG{PIPE} = 'DEFAULT'", "$SIG{PIPE} = 'IGNORE'", odd] {
        let direct = run(before).start_directly().exits(0).out();
        assert_eq!(run(before).exits(0).out(), direct, "{before}");
        if before == odd {
            assert!(direct.contains("SigBlk:\t0000000008012800\n"), "{direct}");
            let mask = direct.split("SigIgn:\t").nth(1).unwrap();
            let mask = u64::from_str_radix(&mask[..16], 16).unwrap();
            // HUP, USR1, PIPE, CHLD and TSTP. 32 and 33 are the C library's own, and its posix_spawn may ignore them.
            assert_eq!(mask & 0x7fff_ffff, 0x0009_1201, "{direct}");
        }
    }
}

#[test]
fn nothing_of_redlease_is_open_in_the_job() {
    let redis = Redis::options().tcp().start();
    let url = format!("redis://127.0.0.1:{}", redis.port());
    let run = || {
        Redlease::run("k")
            .env("REDLEASE_URL", &url)
            .job(["ls", "/proc/self/fd"])
    };
    let direct = run().start_directly().exits(0).out();
    assert_eq!(run().exits(0).out(), direct);
}
