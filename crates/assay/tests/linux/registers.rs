//! What programs of a guest have in their floating-point registers stays theirs: its kernel sets
//! them only if they are not there already.

use super::{guest, no_guests};
use crate::command::temporary;
use std::arch::asm;

/// Set where this program is to be the one in the guest.
const INSIDE: &str = "ASSAY_TEST_INSIDE";

/// A system call with `value` in registers that no library gets to see in between; whether it is
/// still there after it, and what the call returned.
fn call_holding(value: u64, number: i64, first: i64, second: i64) -> (bool, i64) {
    let (low, high, result): (u64, u64, i64);
    // SAFETY: the calls below touch no memory that anybody uses.
    unsafe {
        asm!(
            "movq xmm0, {value}",
            "movq xmm15, {value}",
            "syscall",
            "movq {low}, xmm0",
            "movq {high}, xmm15",
            value = in(reg) value,
            low = out(reg) low,
            high = out(reg) high,
            inlateout("rax") number => result,
            in("rdi") first,
            in("rsi") second,
            out("rcx") _,
            out("r11") _,
            out("xmm0") _,
            out("xmm15") _,
        );
    }
    ((low, high) == (value, value), result)
}

/// Whether `value` stays in a register over a write to `page`, which is not there yet.
fn touch_holding(value: u64, page: *mut u8) -> bool {
    let left: u64;
    // SAFETY: the page is mapped, and nobody else has it.
    unsafe {
        asm!(
            "movq xmm7, {value}",
            "mov byte ptr [{page}], 1",
            "movq {left}, xmm7",
            value = in(reg) value,
            page = in(reg) page,
            left = lateout(reg) left,
            out("xmm7") _,
        );
    }
    left == value
}

/// A page that is not there yet.
fn page() -> *mut u8 {
    let (rights, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANON);
    // SAFETY: a mapping at a place of the kernel's choice touches no memory of ours.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), 4096, rights, kind, -1, 0) };
    assert_ne!(at, libc::MAP_FAILED);
    at.cast()
}

/// A handler with floating-point work of its own.
extern "C" fn handler(_: libc::c_int) {
    assert!(call_holding(u64::MAX, libc::SYS_getpid, 0, 0).0, "in a handler");
}

/// In the guest: threads that take turns, handlers in between, and a child that goes on with what
/// its parent had.
fn keeps_its_registers() {
    let turns =
        |own: u64| (0..2000).all(|i| call_holding(own << 32 | i, libc::SYS_sched_yield, 0, 0).0);
    let other = std::thread::spawn(move || turns(1));
    assert!(turns(2), "between threads");
    assert!(other.join().unwrap(), "between threads");

    // SAFETY: the handler touches nothing of ours.
    unsafe { libc::signal(libc::SIGUSR1, handler as *const () as libc::sighandler_t) };
    let (itself, signal) = (i64::from(std::process::id()), i64::from(libc::SIGUSR1));
    for i in 0..200 {
        assert!(call_holding(i, libc::SYS_kill, itself, signal).0, "over a signal");
    }
    for i in 0..200 {
        let page = page();
        assert!(touch_holding(i, page), "over a page fault");
        assert!(call_holding(i, libc::SYS_munmap, page as i64, 4096).0, "over an unmapping");
    }
    for i in 1..50 {
        let (is_kept, child) = call_holding(i, libc::SYS_fork, 0, 0);
        if child == 0 {
            // SAFETY: the child ends at once.
            unsafe { libc::_exit(i32::from(!is_kept)) };
        }
        let mut status = 0;
        // SAFETY: `status` is there to be written.
        unsafe { libc::waitpid(child as i32, &mut status, 0) };
        assert!(is_kept && status == 0, "over a fork");
    }
}

#[test]
fn programs_keep_their_floating_point_registers() {
    if std::env::var_os(INSIDE).is_some() {
        return keeps_its_registers();
    }
    if no_guests() {
        return;
    }
    let directory = temporary();
    let itself = std::env::current_exe().unwrap();
    let name = "registers::programs_keep_their_floating_point_registers";
    let script = format!("{INSIDE}=yes {} --exact {name}\n", itself.display());
    let (said, _) = guest(directory.path(), 1, &[], &script, &[]);
    assert!(said.contains("1 passed"), "{said}");
}
