//! A server that answers whatever does harm to a careless client: no panic, no hang, not more than 32 MB.

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::harness::{Redlease, Running, ms, wait_until};

/// What is written once, and what is written again and again after it.
pub type Answer = (Vec<u8>, Vec<u8>);

/// A port that answers every request so, on every connection. Its thread ends with the tests.
pub fn serve((first, again): Answer) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let (first, again) = (first.clone(), again.clone());
            std::thread::spawn(move || {
                let mut request = [0; 65536];
                while stream.read(&mut request).is_ok_and(|count| count > 0) {
                    if stream.write_all(&first).is_err() {
                        return;
                    }
                    while !again.is_empty() {
                        if stream.write_all(&again).is_err() {
                            return;
                        }
                    }
                }
            });
        }
    });
    port
}

fn once(bytes: &[u8]) -> Answer {
    (bytes.to_vec(), Vec::new())
}

fn answers() -> Vec<(&'static str, Answer)> {
    let many = [&b"*65000\r\n"[..], &b":1\r\n".repeat(65_000)].concat();
    let nested = [&b"*60000\r\n"[..], &b"*1\r\n:1\r\n".repeat(60_000)].concat();
    let error = [&b"-ERR "[..], &b"\x1b[31m\x07".repeat(5_000), b"\r\n"].concat();
    vec![
        ("a number", once(b":1\r\n")),
        ("OK", once(b"+OK\r\n")),
        ("nil", once(b"$-1\r\n")),
        ("an empty list", once(b"*0\r\n")),
        ("a list of lists", once(b"*3\r\n*0\r\n*0\r\n*1\r\n*0\r\n")),
        ("a list of errors", once(b"*2\r\n-ERR a\r\n-ERR b\r\n")),
        (
            "huge numbers",
            once(b"*3\r\n:9223372036854775807\r\n:-9223372036854775808\r\n:0\r\n"),
        ),
        ("no number", once(b":99999999999999999999\r\n")),
        ("a negative length", once(b"$-7\r\n")),
        ("a huge list", once(b"*2147483647\r\n")),
        (
            "a huge string",
            (b"$2147483647\r\n".to_vec(), vec![b'x'; 65536]),
        ),
        ("an endless line", (b"+".to_vec(), vec![b'x'; 65536])),
        (
            "an endless list",
            (
                b"*60000\r\n".to_vec(),
                b"$1000000\r\n"
                    .iter()
                    .copied()
                    .chain([b'x'; 65536])
                    .collect(),
            ),
        ),
        ("many values", once(&many)),
        ("many lists", once(&nested)),
        ("deep nesting", (Vec::new(), b"*1\r\n".repeat(10_000))),
        ("answers to nothing", (Vec::new(), b":1\r\n".repeat(10_000))),
        ("RESP3", once(b"%1\r\n+a\r\n#t\r\n")),
        ("a push", once(b">2\r\n+message\r\n+x\r\n")),
        ("zero bytes", (Vec::new(), vec![0; 65536])),
        ("control characters", once(&error)),
        ("MOVED", once(b"-MOVED 1 127.0.0.1:1\r\n")),
    ]
}

/// The most memory that a process has had at any time, in kilobytes; None once it is gone.
fn peak(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

fn harmless(start: impl Fn(u16) -> Running) {
    let mut runs: Vec<(&str, Running, u64)> = answers()
        .into_iter()
        .map(|(name, answer)| (name, start(serve(answer)), 0))
        .collect();
    wait_until("the end of every run", ms(60_000), || {
        let mut all = true;
        for (_, run, most) in &mut runs {
            *most = (*most).max(peak(run.pid()).unwrap_or(0));
            all &= run.ended();
        }
        all
    });
    for (name, run, most) in runs {
        let outcome = run.wait();
        let shown = format!("{name}: {}", outcome.stderr);
        assert!(
            [69, 77, 78].contains(&outcome.code),
            "{} {shown}",
            outcome.code
        );
        assert_eq!(outcome.out(), "", "{shown}");
        assert!(outcome.stderr.starts_with("redlease: "), "{shown}");
        assert!(!outcome.stderr.contains("panicked"), "{shown}");
        assert!(!outcome.stderr.contains(['\x1b', '\x07']), "{shown}");
        assert!(outcome.stderr.len() < 2_000, "{shown}");
        assert!(most < 32 * 1024, "{most} kB, {shown}");
    }
}

#[test]
fn a_run_survives_every_answer() {
    harmless(|port| {
        Redlease::run("k")
            .env("REDLEASE_URL", format!("redis://127.0.0.1:{port}"))
            .args(["--connect-timeout", "1s"])
            .sh("echo started")
            .start()
    });
}
