//! redlease runs a command in one place at a time, under a lease in Redis.

mod cli;
mod exit;
mod lease;
mod plan;
mod report;
mod sys;
mod time;

fn main() {}
