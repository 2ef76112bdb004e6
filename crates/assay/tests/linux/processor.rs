//! The kernel's work takes the time that the processor says, the same each time.

use super::agreement::measured;
use super::{guest, no_guests};
use crate::command::temporary;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Writes the file of a processor in `directory`; returns its path. It does what is `slow` with 100
/// MB a second, and all else with bytes in next to no time.
fn processor(
    directory: &Path,
    name: &str,
    (wake, blocks, calls): (&str, u32, u32),
    slow: &[&str],
) -> String {
    let value = |value: &str| format!("{{ value = {value}, assumed = \"a test\" }}");
    let rate = |key: &str, rate: &str| format!("{key} = {}\n", value(&format!("\"{rate}\"")));
    let mut text = format!(
        "format = 1\nname = \"{name}\"\ntitle = \"a test\"\n[sources]\n[core]\n\
         clock_mhz = {}\nwake = {}\nblock_cycles = {}\ncall_cycles = {}\n[memory]\n",
        value("1000"),
        value(&format!("\"{wake}\"")),
        value(&blocks.to_string()),
        value(&calls.to_string()),
    );
    for key in ["copy", "crc32", "crc32c", "xor"] {
        text += &rate(key, if slow.contains(&key) { "100MB/s" } else { "1000TB/s" });
    }
    let path = directory.join(format!("{name}.toml"));
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// Returns a target, in quotation marks, whose kernel works on the processor of this file.
fn target(ground: &str, processor: &str, name: &str) -> String {
    format!("\"linux({ground}, processor={processor}, name={name})\"")
}

/// Reads 16 MiB that are in memory, by 4 KiB: the time of each read in ns on each processor.
fn cached_reads(directory: &Path, processors: &[String]) -> Vec<f64> {
    let on = |path: &String| {
        let name = Path::new(path).file_stem().unwrap().to_string_lossy();
        target("fs=ext4, sim:ssd-m", path, &name)
    };
    let targets: Vec<String> = processors.iter().map(on).collect();
    let experiment = format!(
        "format = 1\nname = \"cached\"\nquestion = \"What does a read from memory take?\"\n\
         log = false\ntargets = [{}]\n[[workload]]\nname = \"read\"\nfile = \"reread\"\n\
         size = \"4KiB\"\nlength = \"16MiB\"\nbetween = \"nothing\"\n",
        targets.join(", ")
    );
    measured(directory, &experiment).iter().map(|(_, rate)| 4096e9 / rate).collect()
}

#[test]
fn each_kind_of_work_takes_its_time() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    let path = directory.path();
    let processors = [
        processor(path, "calls", ("0us", 0, 50_000), &[]),
        processor(path, "blocks", ("0us", 10, 0), &[]),
        processor(path, "twice", ("0us", 20, 0), &[]),
        processor(path, "copies", ("0us", 0, 0), &["copy"]),
    ];
    let each = cached_reads(path, &processors);
    println!("{each:?} ns each");
    let [calls, blocks, twice, copies] = each[..] else { panic!("four: {each:?}") };
    // A read is one system call of 50 us.
    assert!((50_000.0..51_000.0).contains(&calls), "{calls}");
    // 4,096 bytes take 40,960 ns; a read copies little else.
    assert!((40_960.0..45_000.0).contains(&copies), "{copies}");
    // Some hundred blocks, and twice the time for twice the cycles.
    assert!((500.0..20_000.0).contains(&blocks), "{blocks}");
    // The more time, the more ticks of the clock.
    assert!((twice / blocks - 2.0).abs() < 0.1, "{blocks} {twice}");
}

/// Two shells hand each other a word a hundred times, which is two switches each time. And a
/// program fills 16 MiB, which is 4096 faults and those of its start.
#[test]
fn switches_and_faults_take_their_time() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    let path = directory.path();
    let file = processor(path, "none", ("0us", 0, 0), &[]);
    let with = |name: &str, key: &str| {
        // A million cycles of 1000 MHz are a millisecond.
        let line = format!("{key} = {{ value = 1000000, assumed = \"a test\" }}\n[memory]");
        let text = std::fs::read_to_string(&file).unwrap().replace("[memory]", &line);
        let other = path.join(format!("{name}.toml"));
        std::fs::write(&other, text.replace("\"none\"", &format!("\"{name}\""))).unwrap();
        other.display().to_string()
    };
    let script = "cd /run; mkfifo to from; exec 3<>to 4<>from
        while read word <&3; do echo $word >&4; done &
        echo x >&3; read word <&4; read begin rest </proc/uptime
        i=0; while [ $i -lt 100 ]; do echo x >&3; read word <&4; i=$((i + 1)); done
        read middle rest </proc/uptime
        perl -e '$n = 16 << 20; $x = \"x\" x $n'; read end rest </proc/uptime
        kill $!; echo $begin $middle $end";
    let run = |file: &str| {
        let (said, _) = guest(path, 1, &["--processor", file], script, &[]);
        let times: Vec<f64> = said.split_whitespace().map(|word| word.parse().unwrap()).collect();
        (times[1] - times[0], times[2] - times[1])
    };
    let (words, fill) = run(&file);
    assert!(words < 0.02 && fill < 0.02, "{words} {fill}");
    let (words, fill) = run(&with("switches", "switch_cycles"));
    assert!((0.19..0.24).contains(&words) && fill < 0.02, "{words} {fill}");
    let (words, fill) = run(&with("faults", "fault_cycles"));
    assert!(words < 0.02 && (4.09..5.0).contains(&fill), "{words} {fill}");
}

/// What is checksummed or XORed takes time in the guests that do it.
#[test]
fn checksums_and_parity_take_their_time() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    let path = directory.path();
    let slow = |key: &str| processor(path, &format!("slow-{key}"), ("0us", 0, 0), &[key]);
    let free = processor(path, "free", ("0us", 0, 0), &[]);
    let grounds = [
        ("crc32", "fs=nilfs2, sim:ssd-m"),
        ("crc32c", "fs=btrfs, sim:ssd-m"),
        ("xor", "raw, md-raid5(sim:ssd-m*3)"),
    ];
    let mut targets: Vec<String> = grounds
        .iter()
        .flat_map(|(key, ground)| {
            [target(ground, &slow(key), key), target(ground, &free, &format!("no-{key}"))]
        })
        .collect();
    let unsummed = format!("{}, mount=\\\"nodatasum\\\"", grounds[1].1);
    targets.push(target(&unsummed, &slow("crc32c"), "unsummed"));
    let experiment = format!(
        "format = 1\nname = \"bytes\"\nquestion = \"What do checksums take?\"\nlog = false\n\
         targets = [{}]\n[[workload]]\nname = \"write\"\nread_share = 0.0\nsize = \"1MiB\"\n\
         pattern = \"sequential\"\nrange = \"0..16MiB\"\nmeasure = {{ requests = 16 }}\n",
        targets.join(", ")
    );
    let measured = measured(path, &experiment);
    println!("{measured:?}");
    let ns_a_byte = |name: &str| {
        let cell = format!("@{name}");
        let (_, rate) = measured.iter().find(|(id, _)| id.ends_with(&cell)).expect("measured");
        1e9 / rate
    };
    for (key, _) in grounds {
        let more = ns_a_byte(key) - ns_a_byte(&format!("no-{key}"));
        // 100 MB a second are 10 ns a byte; during some of that time the drive works, too.
        assert!(more > 5.0, "{key}: {measured:?}");
    }
    assert!(ns_a_byte("unsummed") < ns_a_byte("crc32c") - 5.0, "{measured:?}");
}

#[test]
fn a_processor_that_idled_wakes_up_before_it_goes_on() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    let path = directory.path();
    // 40 us are less than each read takes, so the processor sleeps as deeply as it can; 10 s are
    // more, and it wakes in the time that it slept.
    let wakes = [("none", "0us"), ("short", "40us"), ("long", "10s")];
    let on = |(name, wake): (&str, &str)| {
        let file = processor(path, name, (wake, 0, 0), &[]);
        target("raw, sim:reference-28", &file, name)
    };
    let experiment = format!(
        "format = 1\nname = \"wake\"\nquestion = \"What does it cost to wake up?\"\nlog = false\n\
         targets = [{}]\n[[workload]]\nname = \"read\"\nread_share = 1.0\nsize = \"4KiB\"\n\
         pattern = \"random\"\nmeasure = {{ requests = 1000 }}\n",
        wakes.map(on).join(", ")
    );
    let each: Vec<f64> =
        measured(path, &experiment).iter().map(|(_, rate)| 4096e9 / rate).collect();
    println!("{each:?} ns each");
    let more = each[1] - each[0];
    assert!((39_000.0..41_000.0).contains(&more), "{each:?}");
    assert!((each[2] / each[0] - 2.0).abs() < 0.02, "{each:?}");
}

/// Does `work` while this machine has more to do than it can.
fn under_load<T>(work: impl FnOnce() -> T) -> T {
    /// Ends the load, also if the work panics.
    struct Load(Arc<AtomicBool>);
    impl Drop for Load {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let load = Load(Arc::default());
    for _ in 0..4 {
        let has_ended = Arc::clone(&load.0);
        std::thread::spawn(move || {
            while !has_ended.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
    }
    work()
}

/// Work is counted, not measured: another clock protocol and a loaded host change nothing.
#[test]
fn work_takes_the_same_time_under_load() {
    if no_guests() {
        return;
    }
    let script = "mkfs.ext4 -q -F /dev/vda && mount /dev/vda /run/mnt && cp -r /usr/lib/git-core \
                  /run/mnt 2>/dev/null; sync; umount /run/mnt && mount /dev/vda /run/mnt && \
                  cat $(find /run/mnt -type f | head -50) | sha256sum; cat /proc/uptime";
    // The path of the script is looked up in the guest.
    let directory = temporary();
    let run = |options: &[&str]| {
        let mut all = vec!["--processor", "core-2-2660"];
        all.extend(options);
        guest(directory.path(), 1, &all, script, &[])
    };
    let alone = run(&[]);
    assert!(alone == run(&["--clock", "messages"]), "another protocol of the clock");
    let loaded = under_load(|| [run(&[]), run(&[])]);
    assert!(loaded.iter().all(|one| *one == alone), "a loaded host");
}

/// Threads that talk to each other and to the kernel make much of a small difference.
const POOL: &str = r#"
format = 1
name = "pool"
question = "Is a pool read in the same time?"
log = false
targets = ["linux(fs=zfs, raid-z(sim:x25-m-g2*2), memory=384MiB, processor=xeon-x5550, name=pool)"]
[[workload]]
name = "seq-rd"
file = "read"
size = "64KiB"
length = "64MiB"
"#;

#[test]
fn a_process_that_serves_a_file_system_works_the_same_under_load() {
    if no_guests() {
        return;
    }
    if !Path::new("/usr/sbin/zfs-fuse").exists() {
        return println!("skipped: zfs-fuse is not installed");
    }
    let run = || measured(temporary().path(), POOL)[0].1;
    let alone = run();
    let loaded = under_load(|| [run(), run()]);
    assert!(loaded.iter().all(|one| one.to_bits() == alone.to_bits()), "{alone} {loaded:?}");
}
