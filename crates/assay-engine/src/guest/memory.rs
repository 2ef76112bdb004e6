//! Keeps the guest memory that assay itself takes the same in every build.
//!
//! assay's need for heap and stack changes with its code. If it came from the guest's memory, the
//! page cache of the file system under test would have the rest, and another build would give other
//! results. Therefore the C library's heap moves, while it is small, to the memory outside of the
//! guest's where the program lies (`assay_linux::program`), and grows there. Each thread touches at
//! its start as much of its stack as it may need.
//!
//! All processes that map program and heap share them, so assay must not fork in a guest: the child
//! would change the memory of its parent. Starting another program by its path does not fork
//! (`assay_linux::child::tool`).
//!
//! Direct requests need memory of the guest itself: [`crate::aligned::Aligned`] and the buffers of
//! a ring are mappings, not parts of the heap.

use assay_linux::program::{DEVICE, HEAP, HEAP_SIZE, HEAP_START, WINDOW};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// The number of bytes of a thread's stack that are touched at its start.
const STACK: usize = 32 << 10;

/// Whether this process may fork: not in a guest.
static MAY_FORK: AtomicBool = AtomicBool::new(true);

/// Returns `true` if this process may fork, which it must not do in a guest.
pub(crate) fn may_fork() -> bool {
    MAY_FORK.load(Ordering::Relaxed)
}

/// Moves the heap to the program's memory. Called only in a guest, before any other thread runs.
///
/// # Errors
/// If the kernel refuses.
#[cfg(target_env = "gnu")]
pub(super) fn move_heap() -> io::Result<()> {
    MAY_FORK.store(false, Ordering::Relaxed);
    const MUCH: libc::c_int = libc::c_int::MAX;
    // The kernel refuses an allocation that is larger than the guest's memory.
    const STEP: usize = 8 << 20;
    let device = File::options().read(true).write(true).open(DEVICE)?;
    let map = |at: *mut libc::c_void, flags: libc::c_int| {
        let (length, protection) = (HEAP_SIZE as usize, libc::PROT_READ | libc::PROT_WRITE);
        let flags = flags | libc::MAP_SHARED;
        // SAFETY: existing mappings stay, or the caller has copied what it replaces.
        let got = unsafe {
            libc::mmap(at, length, protection, flags, device.as_raw_fd(), HEAP as libc::off_t)
        };
        if got == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(got) }
    };
    // The copy lies behind the program, so that each build needs the same number of page tables.
    let copy = map((WINDOW + HEAP) as *mut libc::c_void, libc::MAP_FIXED_NOREPLACE)?;
    // SAFETY: the first program of the guest has mapped a header there and written this word.
    let start = unsafe { std::ptr::read((WINDOW + HEAP_START) as *const usize) };
    // SAFETY: the options only say where memory comes from. The allocations, freed at once, let the
    // heap grow to its full length. No thread but this one uses the heap, and this one allocates
    // nothing between copying what is in it and mapping the copy in its place.
    unsafe {
        // The guest's first program locked all memory (`mlockall`).
        libc::munlockall();
        let used = libc::sbrk(0) as usize - start;
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_MAX, 0);
        libc::mallopt(libc::M_TRIM_THRESHOLD, MUCH);
        // `black_box` keeps the compiler from removing unused allocations.
        let allocate = |()| std::hint::black_box(libc::malloc(STEP));
        let parts = [(); HEAP_SIZE as usize / STEP].map(allocate);
        for part in parts {
            libc::free(part);
        }
        if (libc::sbrk(0) as usize) < start + HEAP_SIZE as usize {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        std::ptr::copy_nonoverlapping(start as *const u8, copy.cast(), used);
        map(start as *mut libc::c_void, libc::MAP_FIXED)?;
        libc::munmap(copy, HEAP_SIZE as usize);
        match libc::pthread_atfork(Some(refuse_to_fork), None, None) {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

#[cfg(target_env = "gnu")]
unsafe extern "C" fn refuse_to_fork() {
    eprintln!("assay must not fork in a guest: it would share its memory with the child");
    std::process::abort();
}

/// Leaves the heap where it is, because only glibc's can be moved.
#[cfg(not(target_env = "gnu"))]
pub(super) fn move_heap() -> io::Result<()> {
    MAY_FORK.store(false, Ordering::Relaxed);
    Ok(())
}

/// Touches the stack of a thread that has just begun, so that it takes the same memory in any
/// build.
pub(crate) fn touch_stack() {
    std::hint::black_box(&mut [0_u8; STACK]);
}
