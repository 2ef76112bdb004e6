//! Loop devices, mounts, swap and images for the tests of what is refused; undone when dropped.
//!
//! Shared by the tests of the safety layer and those of the command line.

#![allow(dead_code)] // each test file uses its own part

use std::ffi::CString;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a tool printed, or `None` (said aloud) if it is missing or failed.
pub fn tool(name: &str, arguments: &[&str]) -> Option<String> {
    match Command::new(name).args(arguments).output() {
        Ok(output) if output.status.success() => {
            Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        Ok(output) => {
            println!("skipped: {name}: {}", String::from_utf8_lossy(&output.stderr).trim());
            None
        }
        Err(error) => {
            println!("skipped: {name}: {error}");
            None
        }
    }
}

/// A loop device, detached when dropped.
pub struct Loop(pub PathBuf);

impl Loop {
    pub fn new(backing: &Path, options: &[&str]) -> Option<Loop> {
        // Where processes are hidden no device is written to.
        if fs::read_link("/proc/self/ns/pid").is_ok_and(|ns| ns != Path::new("pid:[4026531836]")) {
            println!("skipped: a pid namespace");
            return None;
        }
        let backing = backing.to_str()?;
        let arguments = [&["--find", "--show"], options, &[backing]].concat();
        tool("losetup", &arguments).map(|name| Loop(PathBuf::from(name)))
    }

    pub fn name(&self) -> String {
        self.0.file_name().unwrap().to_string_lossy().into_owned()
    }

    /// The first partition, if the kernel or `partx` makes a node for it.
    pub fn partition(&self) -> Option<PathBuf> {
        let path = PathBuf::from(format!("{}p1", self.0.display()));
        if !path.exists() {
            let _ = Command::new("partx").arg("--add").arg(&self.0).output();
        }
        if !path.exists() {
            println!("skipped: the kernel made no {}", path.display());
            return None;
        }
        Some(path)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("partx").arg("--delete").arg(&self.0).output();
        let _ = Command::new("losetup").arg("--detach").arg(&self.0).status();
    }
}

/// A mount, undone when dropped.
pub struct Mounted(pub PathBuf);

impl Mounted {
    pub fn new(device: &Path, point: &Path) -> Option<Mounted> {
        fs::create_dir_all(point).unwrap();
        // Read-only without replaying the journal, so that the image stays as it is.
        let arguments = ["-o", "ro,noload", device.to_str()?, point.to_str()?];
        tool("mount", &arguments).map(|_| Mounted(point.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// Active swap, switched off when dropped.
pub struct Swap(CString);

impl Swap {
    pub fn new(device: &Path) -> Option<Swap> {
        let path = CString::new(device.to_str()?).ok()?;
        // SAFETY: the path is a C string that outlives the call.
        if unsafe { libc::swapon(path.as_ptr(), 0) } == 0 {
            return Some(Swap(path));
        }
        println!("skipped: swapon: {}", std::io::Error::last_os_error());
        None
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        // SAFETY: the path is a C string that outlives the call.
        unsafe { libc::swapoff(self.0.as_ptr()) };
    }
}

/// An image of `size`, empty.
pub fn image(dir: &Path, size: u64) -> PathBuf {
    let path = dir.join("image");
    fs::write(&path, vec![0; size as usize]).unwrap();
    path
}

/// Writes a partition table with one Linux partition from 1 MiB to the end.
pub fn partition_table(image: &Path, size: u64) {
    let mut sector = [0_u8; 512];
    sector[450] = 0x83;
    sector[454..458].copy_from_slice(&2048_u32.to_le_bytes());
    sector[458..462].copy_from_slice(&((size / 512) as u32 - 2048).to_le_bytes());
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    fs::OpenOptions::new().write(true).open(image).unwrap().write_all_at(&sector, 0).unwrap();
}

/// FNV-1a of a file.
pub fn hash(path: &Path) -> u64 {
    let step = |h: u64, b: &u8| (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3);
    fs::read(path).unwrap().iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Returns the first page of an area for swapping. The kernel may swap to all others at any time,
/// but never writes this one while the area is in use.
pub fn swap_header(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap()[..4096].to_vec()
}
