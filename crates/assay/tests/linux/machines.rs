//! Results in a guest do not depend on what else is on the machine: more libraries, other numbers
//! of inodes, another processor.

use super::{assert_same_cells, cells_of, no_guests};
use std::path::Path;
use std::process::Command;

const EXPERIMENT: &str = r#"
format = 1
name = "machines"
question = "Does another machine measure the same?"
scale = "1/64"
targets = [
    """linux(fs=ext3, sim:cheetah-10k, scheduler=cfq, processor=pentium-4-2660, partition=64GiB, \
    mount=barrier=0, name=disk)""",
    "linux(fs=xfs, md-raid5(sim:x25-m-g2*3), processor=xeon-x5550, partition=32GiB, name=array)",
]
[[workload]]
name = "write"
file = "write"
size = "4KiB"
length = "4GiB"
[[workload]]
name = "random-write"
file = "random-write"
size = "4KiB"
length = "1GiB"
sync = "each"
time = "2s"
"#;

/// Runs its arguments where the dynamic linker's cache is longer, the tools are copies, and the
/// processor has longer cache lines and no AVX.
const ELSEWHERE: &str = r#"
set -e
put() { mount --bind "$1" "$2"; }
{ cat /etc/ld.so.cache; head -c 5000 /dev/zero; } >cache
put cache /etc/ld.so.cache
sed 's/^\(cache_alignment\|clflush size\).*/\1 : 128/; s/ avx[0-9a-z_]*//g' /proc/cpuinfo >cpus
put cpus /proc/cpuinfo
for tool in mke2fs mkfs.xfs mdadm mount umount; do
  file=$(readlink -f "$(command -v "$tool")")
  cp -p "$file" "$tool"
  put "$tool" "$file"
done
exec "$@"
"#;

#[test]
fn another_machine_gives_the_same_results() {
    if no_guests() {
        return;
    }
    let measured = |elsewhere: &[&str]| {
        let mut command = Command::new("unshare");
        command.arg("--mount").args(elsewhere).arg(env!("CARGO_BIN_EXE_assay"));
        cells_of(&mut command, EXPERIMENT)
    };
    let may_mount = Command::new("unshare").args(["--mount", "true"]).output();
    if !may_mount.is_ok_and(|ran| ran.status.success()) || !Path::new("/etc/ld.so.cache").exists() {
        println!(
            "skipped: this user may not mount files over others, or there is no linker's cache"
        );
        return;
    }
    assert_same_cells(&measured(&[]), &measured(&["sh", "-c", ELSEWHERE, "sh"]));
}
