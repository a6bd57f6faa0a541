//! Every Redis that people run, and every network between.

mod cluster;
mod commands;
mod hostile;
mod refusing;
mod secrets;
mod secure;
mod sentinel;
mod tls;
mod urls;
mod weather;
