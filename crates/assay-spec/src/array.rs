//! Arrays as users write them: `raid5(sim:ssd-m*4, chunk=64KiB, failed=1, controller=perc-6i)`.
//!
//! ```text
//! array      = level "(" item { "," item } ")"
//! item       = member | option
//! member     = ( "sim:" name | array ) { "*" count | "@" controller }
//! option     = "chunk=" size | "failed=" count | "fail_at=" time | "rebuild=" ( rate | "idle" )
//!            | "controller=" controller
//! controller = name [ "#" number ]
//! ```
//!
//! `controller=` names the card that makes the array. `@` names the card that a member is attached
//! to while the host makes the array. The same name is the same card; `#2` is another card of that
//! model.
//!
//! *Invariant.* An array that parses can be built if the drives and controllers that it names
//! exist.

pub(crate) mod parse;
pub(crate) mod spec;

pub use parse::linux::parse_linux;
pub(crate) use parse::linux::{complete_linux, scale_linux};
pub use parse::parse;
pub use spec::{
    ArraySpec, CHUNK, DRIVES_MAX, Level, MEMBERS_MAX, MemberSpec, MemberTarget, Rebuild, is_array,
    split_targets,
};
