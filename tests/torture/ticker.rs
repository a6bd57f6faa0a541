//! How starved the machine was: a thread that wants to wake up every 5 ms notes when it could not. A bound that
//! counts on a process getting the processor is widened by what this one did not get; the worst is printed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use super::history::{Gap, MS};
use crate::harness::{ms, now};

const EVERY: u64 = 5;
/// Less is what a busy machine does to everyone, all the time.
const NOTED: u64 = 20;

pub struct Ticker {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Gap>>,
}

impl Ticker {
    pub fn start() -> Ticker {
        let over = Arc::new(AtomicBool::new(false));
        let told = over.clone();
        let thread = std::thread::spawn(move || {
            let mut gaps = Vec::new();
            while !told.load(Ordering::Relaxed) {
                let wanted = now().0 + EVERY * MS;
                std::thread::sleep(ms(EVERY));
                let at = now().0;
                if at > wanted + NOTED * MS {
                    gaps.push(Gap {
                        from: wanted,
                        until: at,
                    });
                }
            }
            gaps
        });
        Ticker { over, thread }
    }

    pub fn end(self) -> Vec<Gap> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().expect("the ticker does not panic")
    }
}
