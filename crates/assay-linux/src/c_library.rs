//! Settings of the C library with which a program does the same on every processor.
//!
//! glibc asks the processor what it can do: it looks for libraries in directories of the
//! processor's kind, copies with other instructions, and saves more registers on the stack. All
//! three change a guest's results, by failed system calls and by pages that a process touches.

/// The variable with the settings.
pub const TUNABLES: &str = "GLIBC_TUNABLES";

/// The settings: no feature that a choice of glibc depends on, and fixed sizes of caches. Without
/// `OSXSAVE` the dynamic linker saves the same registers everywhere. Older and newer versions
/// ignore the names that they do not know.
pub const ANY_PROCESSOR: &str = concat!(
    "glibc.cpu.hwcaps=-SSE3,-SSSE3,-SSE4_1,-SSE4_2,-AVX,-AVX2,-AVX512F,-AVX512CD,-AVX512BW,",
    "-AVX512DQ,-AVX512VL,-AVX512ER,-AVX512PF,-BMI1,-BMI2,-FMA,-FMA4,-F16C,-LZCNT,-MOVBE,-POPCNT,",
    "-CMPXCHG16B,-LAHF64_SAHF64,-ERMS,-FSRM,-RTM,-HTT,-XSAVE,-XSAVEC,-OSXSAVE,-Fast_Rep_String,",
    "-Fast_Copy_Backward,-Fast_Unaligned_Load,-Fast_Unaligned_Copy,-AVX_Fast_Unaligned_Load,",
    "-Prefer_PMINUB_for_stringop,-Slow_BSF,-Slow_SSE4_2,-Prefer_No_VZEROUPPER,-Prefer_ERMS,",
    "-Prefer_FSRM:glibc.cpu.x86_data_cache_size=32768:glibc.cpu.x86_shared_cache_size=33554432:",
    "glibc.cpu.x86_non_temporal_threshold=25165824"
);
