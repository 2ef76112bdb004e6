//! The recipe of the kernel: the source, its changes and its options.

/// The Debian package with the source.
pub(super) const PACKAGE: &str = "linux-source-6.12";
/// The pinned version of the package, and the SHA-256 checksum of the source in it.
pub(super) const VERSION: &str = "6.12.117-1~deb12u1";
pub(super) const CHECKSUM: &str =
    "585a4a074597aefa2b1a68ada83a3184ba351c127544dea80618bbcceaa3961f";
/// The number of the recipe, raised with every change of the constants below: results belong to
/// one recipe.
pub(super) const RECIPE: u32 = 11;
/// Options that differ from the default configuration of this architecture.
pub(super) const CONFIG: &str = include_str!("../kernel.config");

/// Changes of the source, for `patch -p1`, in this order.
pub(super) const PATCHES: [&str; 2] = [KERNEL, WORK];

/// Changes that make it a guest's kernel.
///
/// *Correctness.* The buffer for the processor's registers is larger, as AMX needs it. Random
/// numbers at boot are the same each time. The guest's processes end with their kernel, however
/// that ends. A read of the clock, which a request does twice, takes 128 ns instead of 256 (less
/// would make programs that spin on the clock spin longer). To yield the processor takes as long:
/// threads of `jfs` yield until a request of another thread has ended.
///
/// *Clocks.* A program that reads the processor's counter (`rdtsc`) gets the guest's time, one tick
/// a nanosecond, and not this machine's: `fio` and `mariadbd` measure with it. What a program may
/// wait for in a loop takes a little time, so that the wait ends: reading clocks that go on with
/// the kernel's ticks, and polls that find nothing.
///
/// *Cost of a system call.* The kernel fetches and sets the program's floating-point registers at
/// each one, though they hardly ever change. Now it sets them only if they have changed, and
/// compares only the registers that the processor has.
///
/// *Protection of the host.* The guest is root, may mount any file system, and sees the host's
/// files. It can change only those in its shared directory. For all others the kernel's side of
/// `hostfs` acts as a read-only file system. The host's side opens no other file for writing and
/// follows no link in a path, because a name that the kernel has cached may be a link by now. The
/// guest's root cannot open `/dev/mem`, through which it could change the kernel. Only the command
/// line can make drives from files of the host (`ubd`).
///
/// *Independence of the machine.* The place of an inode of the host in the kernel's table depends
/// on its name, not on its number. The alignment of objects does not depend on the host's
/// processor. The kernel does not contain its configuration, which names tools of the host.
///
/// *Random numbers.* They decide, for example, where a file system places files. They depend on
/// how many were drawn at boot, one for each device's name, but not on addresses in the kernel's
/// code, which differ between compilers. So unused drivers stay (`/dev/mem`, `ubd`), and the host's
/// side calls the same functions as before.
///
/// *Devices.* `/dev/virtual-time` is a page with the time, which assay reads without a system call.
/// `/dev/mmapper`, the memory with assay's program, can be mapped in parts and causes no page
/// faults. Of a network, `kernel.config` has TCP over the guest's own loopback, for databases and
/// their clients.
const KERNEL: &str = include_str!("../kernel.patch");

/// Changes that count what the kernel does, so that its work takes time.
///
/// *What is counted.* Basic blocks, by the compiler's instrumentation, each with one instruction;
/// system calls; bytes that are copied or filled; bytes of CRC-32, CRC-32C and parity, whose loops
/// are not instrumented; and wake-ups. `work=` on the command line has their costs. A switch to
/// another program or thread costs more than its blocks, because the processor then misses its
/// caches, and the blocks of a page fault do not count (see below): `switch=` has what both cost
/// beside. Time passes for all of this when a request goes to a drive, at the end of a system
/// call, when the clock is read, and before the processor idles. Without `work=` nothing costs
/// anything. What a program computes cannot be counted. Instead `program=` has the cost of a
/// program's system call, of a byte that its calls move, and of its page fault. The page of
/// `/dev/virtual-time` has the sums of these.
///
/// *What is not.* The clock, signals of the host and copies of registers are not part of the
/// machine that is modelled; when signals arrive depends on the host's load. Nor is what a build
/// of a program decides: how long loading it takes (work takes time from the `1` that a program
/// writes to `/dev/virtual-time` to its `0`, see `guest/tools.rs`); the pages that its buffers lie
/// in, which a processor finds without its kernel; the blocks of faults that wait for nothing, as
/// they depend on which pages the program has touched; and `F_GETFD`, which debug builds call
/// before they close a file. Pages of buffers of direct requests do count: assay's begin at a
/// page.
///
/// *Accidents of this architecture.* `strncpy_from_user` filled up a page for each path, and the
/// length of a string is counted byte by byte where other architectures count words.
const WORK: &str = include_str!("../work.patch");

/// The first program of a guest.
pub(super) const FIRST_PROGRAM: &str = include_str!("../init.c");

/// Returns `true` if a kernel of this identity is of the current recipe.
pub fn is_current(identity: &str) -> bool {
    identity.contains(&format!(", recipe {RECIPE},"))
}
