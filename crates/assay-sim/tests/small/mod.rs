//! Bundled drives with few blocks, so that a test can write them many times.

use assay_spec::Bytes;
use assay_spec::decode::Source;
use assay_spec::device::{DeviceKind, DeviceSpec, FtlSpec, PageMapSpec};

/// Returns the bundled drive `name`, reduced to four planes of 1,024 blocks.
pub fn small(name: &str) -> DeviceSpec {
    let bundled = assay_spec::catalog::DEVICES.iter().find(|d| d.name == name).unwrap();
    let source = Source { file: bundled.file, text: bundled.text };
    let mut spec = DeviceSpec::parse(source).unwrap();
    let DeviceKind::Ssd(ssd) = &mut spec.kind else { panic!("flash") };
    let before = ssd.nand.pages();
    (ssd.nand.channels, ssd.nand.dies_per_channel) = (2, 2);
    let page = ssd.nand.page;
    // Whole programs.
    let program = ssd.nand.pages_per_program;
    (ssd.nand.blocks_per_plane, ssd.nand.pages_per_block) = (1024, program * (64 / program));
    ssd.nand.planes_per_die = 1;
    let share = ssd.nand.pages() as f64 / before as f64;
    spec.capacity = page * ((spec.capacity.0 as f64 / page.0 as f64 * share) as u64);
    match &mut ssd.ftl {
        FtlSpec::Hybrid(hybrid) => {
            hybrid.width = hybrid.width.map(|_| 2);
            hybrid.log_superblocks = hybrid.log_superblocks.min(40);
        }
        FtlSpec::Page(PageMapSpec { slc: Some(slc), .. }) => {
            let of = |size: Bytes| Bytes((size.0 as f64 * share) as u64);
            (slc.size, slc.fixed) = (of(slc.size), of(slc.fixed));
        }
        _ => {}
    }
    spec
}
