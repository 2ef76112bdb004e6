//! What a workload does, in a line for tables.

use assay_spec::Nanos;
use assay_spec::experiment::{Address, Arrival, StreamSpec, WorkloadSpec};

/// One line of what a workload does.
pub(super) fn of(workload: &WorkloadSpec) -> String {
    if let Some(work) = &workload.files {
        return work.summary();
    }
    let parts: Vec<String> = workload.streams.iter().map(stream_summary).collect();
    let arrival = match workload.arrival {
        Arrival::Closed { jobs, queue_depth, think } => {
            let mut text = if jobs == 1 { "1 job".to_owned() } else { format!("{jobs} jobs") };
            if queue_depth > 1 {
                text += &format!(" x queue depth {queue_depth}");
            }
            if think > Nanos::ZERO {
                text += &format!(", {think} think time");
            }
            text
        }
        Arrival::Open { interval, poisson, .. } => {
            let kind = if poisson { "Poisson" } else { "fixed" };
            format!("{kind} arrivals every {interval}")
        }
    };
    let cache = if workload.write_cache { "" } else { ", write cache off" };
    format!("{}, {arrival}{cache}", parts.join(" / "))
}

fn stream_summary(stream: &StreamSpec) -> String {
    let way = match stream.read_share {
        s if s >= 1.0 => "read".to_owned(),
        s if s <= 0.0 => "write".to_owned(),
        s => format!("{:.0} % read", s * 100.0),
    };
    let pattern = match stream.address {
        Address::Sequential => "sequential".to_owned(),
        Address::Random => "random".to_owned(),
        Address::Mixed { random_share } => format!("{:.0} % random", random_share * 100.0),
        Address::Stride { step } => format!("stride {step}"),
        Address::Zipf { theta } => format!("zipf {theta}"),
        Address::HotCold { .. } => "hot/cold".to_owned(),
    };
    let sizes: Vec<String> = stream.sizes.iter().map(|(s, _)| s.to_string()).collect();
    let forced = if stream.fua { " fua" } else { "" };
    let flushes = match stream.flush_every {
        0 => String::new(),
        n => format!(", a flush after {n}"),
    };
    format!("{pattern} {way}{forced} {}{flushes}", sizes.join("+"))
}
