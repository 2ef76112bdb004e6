//! The errors of targets and of the safety layer, explained for `assay explain`.

/// Every error id of this layer with its explanation.
pub const EXPLANATIONS: &[(&str, &str)] = &[
    (
        "destroy-mismatch",
        "`--destroy` was given with another word than the target's. Names such as \
         /dev/sdb move when disks are plugged in; the serial number does not. When the two \
         disagree, one of them is not what you mean, so nothing is written.",
    ),
    (
        "device-busy",
        "The kernel refused to open the device exclusively: somebody else has claimed it, \
         e.g. a mount in another namespace (a container), a ZFS pool, md, dm or another \
         assay. assay holds its devices exclusively for the whole run so that neither side \
         destroys the other's work.",
    ),
    (
        "device-mounted",
        "Somebody else can reach the same bytes: the device, a partition of it, something built on \
         it (dm, md, bcache, a loop device), or something that lies on what it lies on (a second \
         loop device on the same file) is mounted, swapped to or open for writing, or could be at \
         any time. Writing would destroy data that is in use. Release it first; /proc/*/mountinfo, \
         /proc/swaps, /proc/*/task/*/fd, /proc/*/map_files and /sys/block show what assay looked \
         at. Descriptors on their way in a socket (`scm_fds` in /proc/*/fdinfo) could be of any \
         device, so none is written to while there are some. Reading is allowed.",
    ),
    (
        "device-readonly",
        "The kernel takes no writes for this device: a write-protect switch, a read-only loop \
         device, a snapshot, or a disk that protects itself after failures.",
    ),
    (
        "device-signature",
        "The device holds something: a partition table, a file system, encryption, a RAID, LVM or \
         ZFS member, swap, or data that is neither zeros nor written by assay, at its start, its \
         end or at 256 places between. To say that all of it may be lost, repeat the serial number \
         after `--destroy` (`assay devices` shows it). A device without one goes by its kernel \
         name and a digest of its identity and contents: the name alone may become another's.",
    ),
    (
        "device-system",
        "The device belongs to the disk that carries /, /boot, /usr, /home or /var, found by \
         going from the mounts down through mappings, arrays and partitions. It is never \
         written to, and no option changes that. A new file on that disk measures the same \
         drive safely.",
    ),
    (
        "device-unreadable",
        "A part of the device that was looked at could not be read, so nobody can say whether it \
         holds data. A device in this state is also not worth measuring: look at \
         the kernel's log.",
    ),
    (
        "file-has-holes",
        "A part of the file was never written. The file system answers reads there by itself, so \
         they would measure the processor and not the disk.",
    ),
    (
        "file-in-use",
        "Somebody else can reach the bytes of the file: it is behind a loop device, active swap, \
         or open in another process. assay asks the kernel for a lease, which it gives only to \
         whoever has the file open alone, and looks at loop devices, /proc/swaps and /proc/*/fd. \
         While it measures it keeps the lease: whoever opens the file for writing then stops the \
         run first.",
    ),
    (
        "file-not-ours",
        "The file exists and assay did not make it, or it holds something else by now, so its \
         contents may matter to somebody. assay writes only to files that it made itself, which \
         carry the extended attribute `user.assay` or a sidecar NAME.assay with the number and \
         birth of their inode, have one name, and hold nothing but zeros and what assay wrote. \
         Name a file that does not exist, with --size, or remove the old one.",
    ),
    (
        "no-direct-io",
        "The file system offers no O_DIRECT, or takes it and ignores it, so reads and writes would \
         go to the page cache and measure memory. ext4, XFS, btrfs, f2fs and NFS offer it; most \
         FUSE and pseudo file systems do not, nor does ext4 with data=journal, nor btrfs for \
         compressed data: a few blocks are read twice, and the kernel's count of reads says so.",
    ),
    (
        "no-io-uring",
        "The kernel gave no io_uring. It needs Linux 5.11 or newer; administrators switch it \
         off with kernel.io_uring_disabled, and container run-times with seccomp.",
    ),
    (
        "no-memory",
        "The I/O buffers did not fit into memory. Every request in flight (jobs × queue \
         depth) has a buffer of the longest request, two when the workload writes.",
    ),
    (
        "no-permission",
        "The system does not let this user open the target. Block devices belong to root and \
         mostly to the group disk. Reading needs read permission, writing needs both.",
    ),
    (
        "no-such-device",
        "Nothing under /dev has this name. assay never creates files there: a misspelt device \
         name would otherwise become a file in memory, and the benchmark would measure that.",
    ),
    (
        "no-such-directory",
        "The target file does not exist, and neither does the directory it should be made in. \
         assay makes files, not directories: a missing one is mostly a slip in the path.",
    ),
    (
        "no-thread",
        "The system gave assay no thread, mostly because the user may have no more (`ulimit -u`) \
         or there is no memory. A run needs a few: one writes the request log, others look whether \
         somebody else begins to use a target that is written to.",
    ),
    (
        "not-a-target",
        "The path is neither a regular file nor a block device. An NVMe controller \
         (/dev/nvme0) is a character device; its name space (/dev/nvme0n1) is the block \
         device.",
    ),
    (
        "size-needed",
        "The target file does not exist, and to make it assay must know its size. It is \
         allocated and written once in full with incompressible data, because unwritten parts \
         of a file are answered with zeros without asking the drive.",
    ),
    (
        "target-create",
        "Making the target file failed, for the reason the system gave, mostly a lack of \
         space. What was begun has been removed.",
    ),
    (
        "target-empty",
        "The target has no addressable block: an empty file, a loop device without a file, or \
         a reader without a medium.",
    ),
    (
        "target-locked",
        "Another run holds a lock (flock) on the target, or this run names it twice. Two \
         measurements of one device at the same time measure each other. The lock ends with the \
         process that holds it.",
    ),
    (
        "target-open",
        "The system refused to open the target for a reason that has no explanation of its \
         own here; the message carries it.",
    ),
    (
        "target-taken",
        "While a target was measured that assay writes to, somebody else began to use it. Who \
         opens a file for writing, attaches a loop device to it or cuts it short waits until the \
         last request is done: assay holds a lease on the file. Who attaches a loop device to a \
         device, or to what it lies on, or opens a device without a claim, is noticed within a \
         second or two; who writes to a device while assay does not, before the next cell begins. \
         Nothing was written after that, but for what was in flight if assay had been stopped from \
         outside (SIGSTOP) and so lost its lease.",
    ),
    (
        "uring-options",
        "The number of requests in flight or their length cannot be: at least one and at most \
         32768 requests, each at least a block of the target and less than 2 GiB.",
    ),
    (
        "users-unknown",
        "A device is written to only if nobody else uses it, and here that cannot be seen: assay \
         runs in a pid namespace (a container), which hides the processes of others; or a mount \
         covers a part of /proc or /sys, so that what they show may lack something; or this root \
         may not look into other processes. An empty list is then no proof. Run assay outside. \
         New files can be written to anywhere: for them the kernel itself says whether anybody \
         else has them open.",
    ),
    (
        "write-mismatch",
        "`--write` and the target are different devices or files. The path is asked for twice \
         so that a slip in one of them is noticed; symlinks are followed, so two names of one \
         device are fine.",
    ),
    (
        "write-not-allowed",
        "The plan writes, the target exists, and `--write` was not given. Reading is the \
         default: repeat the target's path after `--write` to allow writing. A file that does \
         not exist needs only --size.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_explained_once_in_order() {
        assert!(EXPLANATIONS.is_sorted_by(|a, b| a.0 < b.0));
        for source in [
            include_str!("mod.rs"),
            include_str!("../target/block.rs"),
            include_str!("../target/block/create.rs"),
            include_str!("../target/block/file.rs"),
            include_str!("../target/uring.rs"),
        ] {
            for constructor in ["Error::environment(", "Error::usage("] {
                for call in source.split(constructor).skip(1) {
                    let id = call.split('"').nth(1).unwrap_or_default();
                    // `interrupted` is explained with the command line.
                    let known =
                        EXPLANATIONS.iter().any(|(known, _)| *known == id) || id == "interrupted";
                    assert!(known, "`{id}` has no explanation");
                }
            }
        }
    }
}
