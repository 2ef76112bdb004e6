//! What a target says of its kernel holds in the guest.

use super::agreement::run;
use super::no_guests;
use crate::command::{assay, temporary};

/// Returns the mean size of the writes that the drive gets from writes of 1 MiB, for each target
/// with these options.
fn write_sizes(options: &[&str]) -> Vec<f64> {
    let target = |(i, options): (usize, &&str)| {
        format!("\"linux(raw, sim:ssd-m, name=t{i}, scheduler=mq-deadline{options})\"")
    };
    let targets: Vec<String> = options.iter().enumerate().map(target).collect();
    let experiment = format!(
        "format = 1\nname = \"sizes\"\nquestion = \"How large are requests?\"\nlog = false\n\
         targets = [{}]\n[[workload]]\nname = \"write\"\nread_share = 0.0\nsize = \"1MiB\"\n\
         pattern = \"sequential\"\nrange = \"0..16MiB\"\nmeasure = {{ requests = 16 }}\n",
        targets.join(", ")
    );
    let directory = temporary();
    let cells = run(directory.path(), &experiment);
    let counter = |cell: &serde_json::Value, name: &str| {
        let device = cell["repeats"][0]["device"].as_array().unwrap();
        device.iter().find(|counter| counter[0] == name).unwrap()[1].as_f64().unwrap()
    };
    let mean = |cell| counter(cell, "drive_write_bytes") / counter(cell, "drive_writes");
    cells.iter().map(mean).collect()
}

#[test]
fn no_request_is_larger_than_the_target_says() {
    if no_guests() {
        return;
    }
    let sizes = write_sizes(&[", max_request=4KiB", ", max_request=64KiB", ", max_request=512KiB"]);
    assert_eq!(sizes, [4096.0, 65536.0, 524_288.0]);
}

#[test]
fn the_kernel_has_the_settings_that_the_target_gives_it() {
    if no_guests() {
        return;
    }
    // Where two pages may be dirty, each write waits for the drive. Where 500 MB may be, nothing is
    // written before the end.
    let experiment = "format = 1\nname = \"dirty\"\nquestion = \"Who waits?\"\nlog = false\n\
         targets = [\"linux(fs=ext4, sim:ssd-m, name=little, sysctl=vm.dirty_bytes=8192)\", \
         \"linux(fs=ext4, sim:ssd-m, name=much, \
         sysctl=vm.dirty_bytes=500000000 vm.dirty_background_bytes=400000000)\"]\n\
         [[workload]]\nname = \"write\"\nfile = \"write\"\nsize = \"64KiB\"\nlength = \"32MiB\"\n\
         sync = \"never\"\n";
    let directory = temporary();
    let cells = run(directory.path(), experiment);
    let elapsed = |i: usize| cells[i]["repeats"][0]["elapsed"].as_f64().unwrap();
    assert!(elapsed(0) > 100.0 * elapsed(1), "{} and {} ns", elapsed(0), elapsed(1));
}

#[test]
fn a_setting_that_the_kernel_does_not_have_is_an_error() {
    if no_guests() {
        return;
    }
    let directory = temporary();
    let experiment = "format = 1\nname = \"unknown\"\nquestion = \"?\"\nlog = false\n\
         targets = [\"linux(raw, sim:ssd-m, sysctl=vm.no_such_thing=1)\"]\n\
         [[workload]]\nname = \"read\"\nread_share = 1.0\nsize = \"4KiB\"\n\
         pattern = \"random\"\nmeasure = { requests = 1 }\n";
    std::fs::write(directory.path().join("x.toml"), experiment).unwrap();
    let output = assay(directory.path(), &["run", "x.toml", "--out", "out"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("`vm.no_such_thing`"), "{said}");
}
