//! The reference drive with 16 GiB of flash, here and in MQSim: requests per CPU-second, start-up
//! left out, in one run. Needs MQSim's directory, built. Prints; asserts nothing.
//!
//!     cargo bench -p assay-sim --bench beside_mqsim -- DIRECTORY
//!
//! Both map pages with the whole map at hand, collect in the plane, acknowledge writes from a cache
//! of 1 MiB and keep 32 requests in flight. MQSim's files are those it comes with, the fields below
//! replaced.

#![allow(clippy::print_stdout)]

use assay_sim::{Closed, InitialState, RandomWrites, build};
use assay_spec::decode::Source;
use assay_spec::device::{DeviceKind, DeviceSpec};
use assay_spec::histogram::Histogram;
use assay_spec::seed::mix;
use assay_spec::{Bytes, Op, Request};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

const PAGE: u64 = 4096;
const DEPTH: usize = 32;
const BLOCKS_PER_PLANE: u32 = 512;

const DRIVE: [(&str, &str); 21] = [
    ("Enabled_Preconditioning", "false"),
    ("Ideal_Mapping_Table", "true"),
    ("Data_Cache_Capacity", "1048576"),
    ("Overprovisioning_Ratio", "0.07"),
    ("GC_Block_Selection_Policy", "RGA"),
    ("Flash_Channel_Count", "8"),
    ("Chip_No_Per_Channel", "4"),
    ("Die_No_Per_Chip", "1"),
    ("Plane_No_Per_Die", "1"),
    ("Block_No_Per_Plane", "512"),
    ("Page_No_Per_Block", "256"),
    ("Page_Capacity", "4096"),
    ("Channel_Transfer_Rate", "200"),
    ("CMD_Suspension_Support", "NONE"),
    ("Page_Read_Latency_LSB", "50000"),
    ("Page_Read_Latency_CSB", "50000"),
    ("Page_Read_Latency_MSB", "50000"),
    ("Page_Program_Latency_LSB", "600000"),
    ("Page_Program_Latency_CSB", "600000"),
    ("Page_Program_Latency_MSB", "600000"),
    ("Block_Erase_Latency", "3000000"),
];

/// CPU seconds of this process, or of the children that it waited for.
fn cpu_seconds(whose: libc::c_int) -> f64 {
    // SAFETY: all zeroes is a valid `rusage`, which outlives the call.
    let used = unsafe {
        let mut used: libc::rusage = std::mem::zeroed();
        libc::getrusage(whose, &mut used);
        used
    };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    seconds(used.ru_utime) + seconds(used.ru_stime)
}

/// `xml` with what stands in the first `field` replaced.
fn set(xml: &str, field: &str, value: &str) -> String {
    let (open, close) = (format!("<{field}>"), format!("</{field}>"));
    let (Some(start), Some(end)) = (xml.find(&open), xml.find(&close)) else {
        panic!("no {field} in MQSim's file")
    };
    format!("{}{value}{}", &xml[..start + open.len()], &xml[end..])
}

/// MQSim, one flow of `requests`.
struct Peer {
    directory: PathBuf,
    scratch: PathBuf,
}

impl Peer {
    fn new(directory: &Path) -> Peer {
        let scratch = std::env::temp_dir().join(format!("assay-mqsim-{}", std::process::id()));
        std::fs::create_dir_all(&scratch).expect("a temporary directory");
        Peer { directory: directory.to_path_buf(), scratch }
    }

    /// CPU seconds, unless it fails.
    fn run(&self, read_percent: u32, requests: u64) -> Option<f64> {
        let text = |name| std::fs::read_to_string(self.directory.join(name)).ok();
        let drive = DRIVE.iter().fold(text("ssdconfig.xml")?, |xml, (f, v)| set(&xml, f, v));
        let shipped = text("workload.xml")?;
        let last = "</IO_Flow_Parameter_Set_Synthetic>";
        let first = &shipped[..shipped.find(last)? + last.len()];
        let flow = [
            ("Initial_Occupancy_Percentage", "100".to_owned()),
            ("Working_Set_Percentage", "100".to_owned()),
            ("Die_IDs", "0".to_owned()),
            ("Plane_IDs", "0".to_owned()),
            ("Read_Percentage", read_percent.to_string()),
            ("Address_Alignment_Unit", "8".to_owned()),
            ("Average_Request_Size", "8".to_owned()),
            ("Average_No_of_Reqs_in_Queue", DEPTH.to_string()),
            ("Stop_Time", "0".to_owned()),
            ("Total_Requests_To_Generate", requests.to_string()),
        ];
        let flow = flow.iter().fold(first.to_owned(), |xml, (f, v)| set(&xml, f, v));
        let (d, w) = (self.scratch.join("drive.xml"), self.scratch.join("flow.xml"));
        std::fs::write(&d, drive).ok()?;
        std::fs::write(&w, format!("{flow}\n</IO_Scenario>\n</MQSim_IO_Scenarios>\n")).ok()?;
        let before = cpu_seconds(libc::RUSAGE_CHILDREN);
        // It waits for a key at the end.
        let status = Command::new(self.directory.join("MQSim"))
            .args(["-i".as_ref(), d.as_os_str(), "-w".as_ref(), w.as_os_str()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        let used = cpu_seconds(libc::RUSAGE_CHILDREN) - before;
        status.is_ok_and(|s| s.success()).then_some(used)
    }

    /// Requests per CPU-second of those after the first `from`.
    fn rate(&self, read_percent: u32, from: u64, to: u64) -> Option<f64> {
        let before = self.run(read_percent, from)?;
        Some((to - from) as f64 / (self.run(read_percent, to)? - before))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // What is left of it is in the temporary directory.
        let _ = std::fs::remove_dir_all(&self.scratch);
    }
}

/// The reference drive with 16 GiB of flash.
fn drive() -> DeviceSpec {
    let bundled = assay_spec::catalog::DEVICES.iter().find(|d| d.name == "reference-7").unwrap();
    let mut spec = DeviceSpec::parse(Source { file: bundled.file, text: bundled.text }).unwrap();
    let DeviceKind::Ssd(ssd) = &mut spec.kind else { panic!("flash") };
    let share = f64::from(BLOCKS_PER_PLANE) / f64::from(ssd.nand.blocks_per_plane);
    ssd.nand.blocks_per_plane = BLOCKS_PER_PLANE;
    spec.capacity = Bytes((spec.capacity.0 as f64 * share) as u64 / PAGE * PAGE);
    spec
}

/// Requests per CPU-second of ours.
fn ours(past: InitialState, op: Op, requests: u64) -> f64 {
    let spec = drive();
    let (mut drive, mut closed) = (build(&spec, past), Closed::new(DEPTH));
    let pages = spec.capacity.0 / PAGE;
    let page = |i| ((u128::from(mix(i)) * u128::from(pages)) >> 64) as u64;
    let request =
        |i| Request { tag: 0, op, offset: Bytes(page(i) * PAGE), length: Bytes(PAGE), fua: false };
    let mut histogram = Histogram::new();
    let before = cpu_seconds(libc::RUSAGE_SELF);
    closed.run(&mut *drive, requests, request, |latency| histogram.record(latency));
    requests as f64 / (cpu_seconds(libc::RUSAGE_SELF) - before)
}

fn main() -> ExitCode {
    let Some(directory) = std::env::args().skip(1).find(|word| !word.starts_with('-')) else {
        println!("skipped: say where MQSim is: -- DIRECTORY");
        return ExitCode::SUCCESS;
    };
    let peer = Peer::new(Path::new(&directory));
    const MILLION: u64 = 1_000_000;
    let pages = drive().capacity.0 / PAGE;
    // MQSim has no steady state to begin in: its first quarter million after its blocks are used
    // up, which collect less than ours do.
    let rows = [
        ("random write, fresh", InitialState::New, Op::Write, 0, 1000, MILLION),
        (
            "random write, collecting",
            InitialState::Steady(RandomWrites::UNIFORM),
            Op::Write,
            0,
            pages * 11 / 10,
            pages * 11 / 10 + MILLION / 4,
        ),
        ("random read", InitialState::Filled, Op::Read, 100, 1000, MILLION),
    ];
    for (what, past, op, read_percent, from, to) in rows {
        let ours = ours(past, op, 3 * MILLION);
        match peer.rate(read_percent, from, to) {
            Some(its) => println!(
                "{what:26} {:8.0} k/s, MQSim {:6.1} k/s: {:5.0} times",
                ours / 1e3,
                its / 1e3,
                ours / its
            ),
            None => println!("{what:26} {:8.0} k/s, MQSim failed", ours / 1e3),
        }
    }
    ExitCode::SUCCESS
}
