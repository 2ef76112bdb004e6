//! KNOW: from a run directory to statistics, findings, ledger verdicts, comparisons and reports.
//!
//! Pure functions of [`load::Run`]: nothing here touches a target, a clock or a file, so a run
//! copied from another machine is analysed just the same. Every number that leaves this crate is an
//! [`stats::Estimate`]: it has a 95 % interval, or a reason why it has none.

#![forbid(unsafe_code)]

pub mod compare;
pub mod cost;
pub mod expr;
mod factors;
pub mod finding;
pub mod ledger;
pub mod load;
pub mod metric;
pub mod program;
pub mod report;
pub mod soundness;
pub mod stats;
mod studies;
mod sweep;
pub mod text;
pub mod trace;
pub mod unseen;
