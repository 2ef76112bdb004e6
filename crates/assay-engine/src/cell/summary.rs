//! Describes a workload in one line, for tables.

use assay_spec::experiment::{Address, Arrival, StreamSpec, WorkloadSpec};
use assay_spec::{Bytes, Nanos};

/// Describes a workload in one line.
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
    let forced = if stream.fua { " fua" } else { "" };
    let flushes = match stream.flush_every {
        0 => String::new(),
        n => format!(", a flush after {n}"),
    };
    format!("{pattern} {way}{forced} {}{flushes}", lengths(stream))
}

/// Returns the lengths of a stream's requests: up to three one by one, more of them as a range.
fn lengths(stream: &StreamSpec) -> String {
    let mut sizes: Vec<Bytes> = stream.sizes.iter().map(|(size, _)| *size).collect();
    sizes.sort_unstable();
    match &sizes[..] {
        [least, .., largest] if sizes.len() > 3 => format!("{least}..{largest}"),
        few => few.iter().map(Bytes::to_string).collect::<Vec<_>>().join("+"),
    }
}

#[cfg(test)]
mod tests {
    use assay_spec::decode::Source;
    use assay_spec::experiment::Experiment;

    #[test]
    fn lengths_are_told_in_order_and_many_as_a_span() {
        let told = |sizes: &str| {
            let text = format!(
                "format = 1\nname = \"t\"\nquestion = \"?\"\ntargets = [\"null\"]\n[[workload]]\n\
                 name = \"w\"\nread_share = 1.0\nsizes = {{ {sizes} }}\npattern = \"random\"\n\
                 measure = {{ requests = 1 }}\n"
            );
            let file = Source { file: "t.toml", text: &text };
            super::of(&Experiment::parse(file).unwrap_or_else(|e| panic!("{e}")).workloads[0])
        };
        let few = told("\"8KiB\" = 1, \"16KiB\" = 1, \"512B\" = 1");
        assert_eq!(few, "random read 512B+8KiB+16KiB, 1 job");
        let many = told("\"8KiB\" = 1, \"16KiB\" = 1, \"4KiB\" = 1, \"512B\" = 1");
        assert_eq!(many, "random read 512B..16KiB, 1 job");
    }
}
