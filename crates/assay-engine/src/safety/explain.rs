//! The errors of targets and of the safety layer, explained for `assay explain`.

/// Every error id of this layer with its explanation.
pub const EXPLANATIONS: &[(&str, &str)] = &[
    (
        "destroy-mismatch",
        "The word after `--destroy` is not the target's. Names such as /dev/sdb move when disks \
         are plugged in; the serial number does not. If name and serial number disagree, one of \
         them is not what you mean, so assay writes nothing.",
    ),
    (
        "device-busy",
        "The kernel refused to open the device exclusively, because somebody else has claimed it: \
         a mount in another namespace (a container), a ZFS pool, md, dm or another assay. assay \
         holds its devices exclusively for the whole run so that neither side destroys the other's \
         work.",
    ),
    (
        "device-mounted",
        "Somebody else can reach the same bytes, and writing would destroy data that is in use. \
         The device, a partition of it, something built on it (dm, md, bcache, a loop device), or \
         another device on the same bytes (a second loop device on one file) is mounted, used for \
         swap or open for writing, or could be at any time. Release it first. assay looks at \
         /proc/*/mountinfo, /proc/swaps, /proc/*/task/*/fd, /proc/*/map_files and /sys/block. A \
         descriptor that waits in a socket (`scm_fds` in /proc/*/fdinfo) could be of any device, \
         so assay writes to no device while there is one. Reading is allowed.",
    ),
    (
        "device-readonly",
        "The kernel accepts no writes for this device: a write-protect switch, a read-only loop \
         device, a snapshot, or a disk that protects itself after failures.",
    ),
    (
        "device-signature",
        "The device holds something: a partition table, a file system, encryption, a RAID, LVM or \
         ZFS member, swap, or data that is neither zeros nor written by assay. assay looks at the \
         start, the end and 256 places between. If all of it may be lost, repeat the serial number \
         after `--destroy` (`assay devices` shows it). For a device without a serial number, \
         repeat its kernel name and a digest of its identity and contents, because another device \
         may get the name.",
    ),
    (
        "device-system",
        "The device belongs to the disk that carries /, /boot, /efi, /usr, /home or /var. assay \
         finds this disk from the mounts, through mappings, arrays and partitions. assay never \
         writes to it, and no option changes that. A new file on that disk measures the same drive \
         safely.",
    ),
    (
        "device-unreadable",
        "assay could not read a part of the device, so it cannot tell whether the device holds \
         data. A device in this state is also not worth measuring: look at the kernel's log.",
    ),
    (
        "file-has-holes",
        "A part of the file was never written, or lost its blocks during the run. The file system \
         answers reads there by itself, so they would measure the processor and not the disk.",
    ),
    (
        "file-in-use",
        "Somebody else can reach the bytes of the file: it is behind a loop device, is an active \
         swap file, or is open in another process. assay looks at loop devices, /proc/swaps and \
         /proc/*/fd, and asks the kernel for a lease, which it gives only if nobody else has the \
         file open. assay keeps the lease while it measures. A process that opens the file for \
         writing then waits until the run has stopped.",
    ),
    (
        "file-not-ours",
        "assay did not make the file, or the file now holds something else, so its contents may \
         matter to somebody. assay writes only to files that it made itself, as a target or, in \
         `linux run --image`, as an image. Such a file carries \
         the extended attribute `user.assay`, or has a sidecar NAME.assay, with the number and \
         birth of its inode. It has one name, and holds only zeros and data that assay wrote. Name \
         a file that does not exist, with --size, or remove the old one.",
    ),
    (
        "no-direct-io",
        "The file system does not offer O_DIRECT, or accepts it and ignores it. Reads and writes \
         would go to the page cache and measure memory. ext4, XFS, btrfs, f2fs and NFS offer \
         O_DIRECT. Most FUSE and pseudo file systems do not; ext4 with data=journal and btrfs with \
         compressed data ignore it. To detect that, assay reads a few blocks twice and looks at \
         the kernel's count of reads.",
    ),
    (
        "no-io-uring",
        "The kernel refused io_uring. assay needs Linux 5.11 or newer. Administrators switch \
         io_uring off with kernel.io_uring_disabled, and container run-times with seccomp.",
    ),
    (
        "no-memory",
        "The I/O buffers do not fit into memory. Every request in flight (jobs × queue depth) has \
         a buffer of the longest request's size, or two if the workload writes.",
    ),
    (
        "no-permission",
        "The system does not let this user open the target. Reading needs read permission, writing \
         needs both. Block devices belong to root and usually to the group disk. Even root cannot \
         write to an immutable or append-only file, or open a device that a container forbids.",
    ),
    (
        "no-such-device",
        "Nothing under /dev has this name, or the kernel has no device behind it. assay never \
         creates files in /dev: a misspelt device name would become a file in memory, and the \
         benchmark would measure that file.",
    ),
    (
        "no-such-directory",
        "The target file does not exist, and its directory does not exist either. assay makes \
         files, not directories, because a missing directory is usually a typing error in the \
         path.",
    ),
    (
        "no-thread",
        "The system gave assay no thread or no inotify watch. Usually the user may have no more \
         (`ulimit -u`, `sysctl fs.inotify`), or there is no memory. A run needs a few threads: one \
         writes the request log, others watch whether somebody else begins to use a target that \
         assay writes to.",
    ),
    (
        "not-a-target",
        "The path is neither a regular file nor a block device. An NVMe controller \
         (/dev/nvme0) is a character device; its name space (/dev/nvme0n1) is the block \
         device.",
    ),
    (
        "results-lost",
        "The results were written, and a device below their file system could not keep them: it \
         failed, or what lies below it is full. The file system was probably mounted without \
         barriers, so it did not say so itself. What is read from it now may be gone after the \
         next mount.",
    ),
    (
        "size-needed",
        "The target file does not exist, and assay needs its size to make it. assay allocates the \
         file and writes all of it once with incompressible data, because the file system answers \
         reads of unwritten parts with zeros, without the drive.",
    ),
    (
        "syncs-ignored",
        "The target is on an overlay that was mounted with the option `volatile`, as tools that \
         build images of containers do, or is a loop device on a file there. Such an overlay \
         answers fsync without writing, and reports no write that failed. Or somebody has told the \
         kernel that a loop device has no cache (`queue/write_cache` in its directory of sysfs), \
         though the file behind it has one. A flush would seem to take no time, and assay could \
         not see whether its writes have reached the drive. assay only reads such a target.",
    ),
    (
        "target-create",
        "assay could not make the target file. The message has the system's reason, usually a lack \
         of space. assay has removed what it had begun.",
    ),
    (
        "target-empty",
        "The target has no addressable block. It is an empty file, a loop device without a file, \
         or a drive without a medium.",
    ),
    (
        "target-locked",
        "Another run holds a lock (flock) on the target, or this run names the target twice. Two \
         measurements of one device at the same time disturb each other. The lock ends with the \
         process that holds it.",
    ),
    (
        "target-open",
        "The system refused to open the target. The message has the reason, for which there is no \
         explanation here.",
    ),
    (
        "target-taken",
        "Somebody else began to use a target while assay measured it, and assay writes to this \
         target. assay holds a lease on a file: a process that opens the file, even only to read \
         it, attaches a loop device to it or truncates it waits until the last request is done. \
         assay notices within a second or two if somebody attaches a loop device to a device, or \
         to what is below the device, or opens the device without a claim. Before the next cell \
         begins, assay notices writes to a device by others while assay does not write. assay \
         wrote nothing after it noticed. Only if assay was stopped from outside (SIGSTOP), and so \
         lost its lease, requests that were in flight may still reach the file.",
    ),
    (
        "too-few-files",
        "Before a run begins, assay compares the limit of open files (`ulimit -n`) with what the \
         run may need: 48, and 12 for each target. The run has not begun.",
    ),
    (
        "too-large-record",
        "assay reads a `cells.json` of at most 1 GiB, and writes no larger one. Latencies that are \
         kept one by one (`first`) are counted before the run begins. If the results of other \
         cells become too large, the run ends, and its finished cells are kept.",
    ),
    (
        "uring-options",
        "The number of requests in flight or their length is not possible. assay needs 1 to 32768 \
         requests, each at least as long as a block of the target and shorter than 2 GiB.",
    ),
    (
        "users-unknown",
        "assay writes to a device only if nobody else uses it, and here it cannot find that out. \
         Perhaps assay runs in a pid namespace (a container), which hides other processes; or a \
         mount covers a part of /proc or /sys; or this root may not inspect other processes; or \
         the file behind a loop device is unknown, or its file system does not answer. Then an \
         empty list of users proves nothing: run assay outside. Or /home or another part of the \
         system is an overlay with a layer that assay cannot find by its name; then any partition \
         may be on its disk. Or the kernel does not count writes to the device or to one below it \
         (`queue/iostats` is 0). assay can write to new files in all these cases but that of a \
         file system that does not answer, because for files the kernel itself says whether \
         anybody else has them open.",
    ),
    (
        "write-mismatch",
        "`--write` and the target are different devices or files. assay asks for the path twice, \
         so that it notices a mistake in one of them. It follows symlinks, so two names of one \
         device are fine.",
    ),
    (
        "write-not-allowed",
        "The plan writes, the target exists, and `--write` was not given. By default assay only \
         reads. Repeat the target's path after `--write` to allow writing. A file that does not \
         exist needs only --size.",
    ),
    (
        "writes-lost",
        "After each repeat that writes, assay flushes the device or file, or the file system of \
         the directory. The flush failed: data that had been accepted is lost. The disk failed, \
         or what lies below it is full. (In a directory it may be data of other programs on the \
         same file system.) The repeat is not recorded.",
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
