//! Results in a guest do not depend on what else is on the machine: more libraries, other numbers
//! of inodes, another processor.

use super::command::temporary;
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
[[workload]]
name = "git"
file = "git"
files = 12800
directories = 640
length = "13kB"
tags = 8
changes = 70
merge_changes = 90
merge_every = 9
"#;

/// Makes libraries for kinds of processors: the dynamic linker looks into these directories first,
/// each of them if the processor is of that kind.
const LIBRARIES: &str = r#"
set -e
git=$(command -v git)
libraries=$(ldd "$git" | sed -n 's|.*=> \(/.*\)/libz\.so.*|\1|p')
[ -n "$libraries" ]
mkdir upper work
for kind in glibc-hwcaps/x86-64-v2 glibc-hwcaps/x86-64-v3 glibc-hwcaps/x86-64-v4 \
  haswell haswell/avx512_1
do
  mkdir -p upper/$kind
  cp "$libraries"/libz.so.1 upper/$kind
done
mount -t overlay overlay "$libraries" -o "lowerdir=$libraries,upperdir=upper,workdir=work"
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

/// Runs its arguments in the same namespace after a script that need not succeed.
const AFTER: &str = r#"before=$1; shift; sh -c "$before"; exec "$@""#;

#[test]
fn another_machine_gives_the_same_results() {
    if no_guests() {
        return;
    }
    let unshared = |words: &[&str]| {
        let mut command = Command::new("unshare");
        command.arg("--mount").args(words);
        command
    };
    let works = |mut command: Command| command.output().is_ok_and(|ran| ran.status.success());
    if !works(unshared(&["true"])) || !Path::new("/etc/ld.so.cache").exists() {
        println!(
            "skipped: this user may not mount files over others, or there is no linker's cache"
        );
        return;
    }
    let directory = temporary();
    let mut libraries = unshared(&["sh", "-c", LIBRARIES]);
    libraries.current_dir(&directory);
    if !works(libraries) {
        println!("skipped: libraries for kinds of processors, because there is no overlay here");
    }
    let measured = |elsewhere: &[&str]| {
        let mut command = unshared(elsewhere);
        command.arg(env!("CARGO_BIN_EXE_assay"));
        cells_of(&mut command, EXPERIMENT)
    };
    let elsewhere = ["sh", "-c", AFTER, "sh", LIBRARIES, "sh", "-c", ELSEWHERE, "sh"];
    assert_same_cells(&measured(&[]), &measured(&elsewhere));
}
