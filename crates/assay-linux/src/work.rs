//! The time that the kernel's work takes, as its parameters say it to `work.patch`.

use assay_spec::device::WorkCosts;

/// Returns the kernel's parameters for the time that its work takes.
pub(crate) fn parameters(costs: WorkCosts) -> Vec<String> {
    let WorkCosts { wake, block, call, switch, fault, copy, crc32, crc32c, xor } = costs;
    let mut parameters = vec![format!("work={wake},{block},{call},{copy},{crc32},{crc32c},{xor}")];
    // The kernel mixes its command line into its random numbers: `switch=0,0` would give the guests
    // of all older processors others.
    if (switch, fault) != (0, 0) {
        parameters.push(format!("switch={switch},{fault}"));
    }
    parameters
}
