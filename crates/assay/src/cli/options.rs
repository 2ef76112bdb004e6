//! Options that several verbs take.

use clap::Args;
use std::path::PathBuf;

/// The options that every verb takes.
#[derive(Clone, Debug, Args)]
pub struct Common {
    /// Print JSON instead of tables
    #[arg(long)]
    pub json: bool,
    /// Print no progress and no messages
    #[arg(long, short)]
    pub quiet: bool,
    /// Print the time and memory that the command would take and its writes, and do nothing
    #[arg(long)]
    pub plan: bool,
}

/// The options that every verb takes that runs something.
#[derive(Clone, Debug, Args)]
pub struct Running {
    /// Directory of the run [default: runs/STUDY-TIME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    pub seed: u64,
    /// Allow writing to this existing device or file; PATH is the path of the target
    #[arg(long, value_name = "PATH")]
    pub write: Option<String>,
    /// Allow destroying the data on the device with this serial number, as `assay devices` shows it
    #[arg(long, value_name = "SERIAL")]
    pub destroy: Option<String>,
    /// Create a file target that does not exist, with this size, rounded down to 4KiB
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub size: Option<String>,
    /// Time for the whole run, e.g. `10m`: phases on real targets are cut to fit, and cells that
    /// cannot begin in time are left out
    #[arg(long, value_name = "TIME")]
    pub budget: Option<String>,
    /// Number of threads for modelled drives, 1 to 1024 [default: one for each processor]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

impl Running {
    /// Returns the name of an option that was given, if one was; the default seed counts as not
    /// given.
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--out", self.out.is_some()),
            ("--seed", self.seed != 1),
            ("--write", self.write.is_some()),
            ("--destroy", self.destroy.is_some()),
            ("--size", self.size.is_some()),
            ("--budget", self.budget.is_some()),
            ("--threads", self.threads.is_some()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
    }
}
