//! Prefetch and huge pages. They are a crate of their own so that the crate of the models can
//! forbid `unsafe`.
//!
//! A flash translation layer accesses a few random cache lines per request, in tables of gigabytes.
//! A prefetched line costs a tenth of one that is fetched when it is needed, and with huge pages
//! the processor's address translation costs half. Neither changes a result.

/// Prefetches the cache line of `table[index]`. Does nothing if `index` is beyond the end.
#[inline(always)]
pub fn prefetch<T>(table: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(entry) = table.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch never faults, and the address is inside a live slice anyway.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(entry).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (table, index);
}

/// Creates a table of `length` entries, all `value`, in huge pages where the kernel has some.
pub fn table<T: Copy + Default>(length: usize, value: T) -> Vec<T> {
    let mut entries = Vec::with_capacity(length);
    advise_huge(entries.as_ptr() as usize, length * size_of::<T>());
    entries.resize(length, value);
    entries
}

/// Advises the kernel to use huge pages for a range. Call it before the first access: pages that
/// are mapped already stay small.
fn advise_huge(start: usize, bytes: usize) {
    const HUGE: usize = 2 << 20;
    let first = start.next_multiple_of(HUGE);
    let end = (start + bytes) & !(HUGE - 1);
    #[cfg(target_os = "linux")]
    if end > first {
        // SAFETY: the range lies inside an allocation of the caller, and MADV_HUGEPAGE changes
        // neither its contents nor its protection. Refused advice is no error.
        unsafe { libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (first, end);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_holds_its_value_whatever_its_size() {
        for length in [0, 1, 1000, 3 << 20] {
            let entries = table(length, 7_u32);
            assert_eq!(entries.len(), length);
            assert!(entries.iter().all(|e| *e == 7));
            prefetch(&entries, 0);
            prefetch(&entries, usize::MAX);
        }
    }
}
