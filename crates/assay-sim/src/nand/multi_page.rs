//! Programs of several pages: the controller gathers the pages that are programmed together.
//!
//! A physical page may hold several pages that are mapped on their own, and cells with several bits
//! have as many physical pages programmed in one go. Pages of a block that belong together are
//! requested one after the other; with the last of them, all are loaded and programmed as one.
//! Until then they are on no chip, and reads of them are served from the controller.

use super::ops::NO_OP;
use super::token::Token;
use assay_spec::device::NandSpec;

/// Pages that are programmed together.
pub(super) struct MultiPageProgram {
    /// The operation that programs them.
    pub(super) op: u32,
    /// The first of the pages.
    pub(super) first: u32,
    /// The number of pages gathered.
    pub(super) count: u32,
    /// The tokens of the pages, without `Token::NONE`.
    pub(super) tokens: Vec<Token>,
    /// The groups of replacers that the pages belong to, once for each page.
    pub(super) replaces: Vec<u32>,
}

/// The programs of several pages that are being gathered or are queued.
pub(super) struct MultiPage {
    /// The pages of a program with all bits of its cells.
    pub(super) pages: u32,
    /// By plane: the programs that lack pages.
    pub(super) open: Vec<Vec<MultiPageProgram>>,
    /// By block: the number of its pages whose only newer copies are in `open`.
    pub(super) replaced: Vec<u16>,
    /// The number of programs queued since the beginning.
    pub(super) asks: u64,
    /// The programs that are queued or under way, by the number in `Op::program`.
    pub(super) queued: Vec<Option<MultiPageProgram>>,
    /// The free numbers in `queued`.
    pub(super) free: Vec<u32>,
    /// The pages of a program with one bit a cell.
    pub(super) slc_pages: u32,
    /// By block: whether it is used with one bit a cell. Empty if the chips do not allow that.
    pub(super) in_slc: Vec<bool>,
    /// The mapped pages of a physical page; 1 if the bits of a cell are not known.
    pub(super) part: u32,
    /// By plane: the physical page in its register, or `NO_OP`.
    pub(super) sensed_page: Vec<u32>,
}

impl MultiPage {
    /// Returns the state for the chips of `spec`, or `None` if a program has one page.
    pub(super) fn new(spec: &NandSpec) -> Option<MultiPage> {
        let blocks = u64::from(spec.planes()) * u64::from(spec.blocks_per_plane);
        (spec.pages_per_program > 1).then(|| MultiPage {
            pages: spec.pages_per_program,
            open: (0..spec.planes()).map(|_| Vec::new()).collect(),
            replaced: vec![0; blocks as usize],
            asks: 0,
            queued: Vec::new(),
            free: Vec::new(),
            slc_pages: spec.pages_per_program / spec.slc.map_or(1, |slc| slc.bits),
            part: spec.slc.map_or(1, |slc| spec.pages_per_program / slc.bits),
            sensed_page: vec![NO_OP; spec.planes() as usize],
            in_slc: vec![false; if spec.slc.is_some() { blocks as usize } else { 0 }],
        })
    }
}
