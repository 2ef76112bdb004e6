//! Controllers: cards that several drives share, alone or as an array.

use super::{Fact, Values};
use crate::decode::{Decoded, Section, Source, document};
use crate::experiment::{bad_name, is_name};
use crate::units::{Bytes, Nanos};

/// A controller, as declared.
#[derive(Clone, Debug)]
pub struct ControllerSpec {
    /// The name used in `controller=NAME` and `@NAME`.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// Payload bytes a second between the host and all its drives together.
    pub rate: Bytes,
    /// Requests of the host it takes at a time.
    pub queue_depth: u32,
    /// Its processor's time for a request of the host.
    pub command: Nanos,
    /// Further time of its link for each member request of an array it makes: setting up the
    /// transfer.
    pub stripe: Nanos,
    /// Bytes a second it computes parity of.
    pub parity: Bytes,
    /// Every value with its origin, in the order of decoding.
    pub facts: Vec<Fact>,
}

impl ControllerSpec {
    /// Decodes a controller file.
    pub fn parse(source: Source<'_>) -> Decoded<ControllerSpec> {
        document(source, "controller", decode)
    }
}

fn decode(top: &mut Section<'_>) -> Decoded<ControllerSpec> {
    let (name, span) = top.string_at("name")?;
    if !is_name(&name) {
        return Err(bad_name(top, span, &name));
    }
    let title = top.string("title")?;
    let mut values = Values::new(top)?;
    let mut link = top.section("link", "link")?;
    let rate = values.rate(&mut link, "link", "rate")?;
    let queue_depth = values.count(&mut link, "link", "queue_depth", 1..4097)?;
    let command = values.time(&mut link, "link", "command")?;
    link.finish()?;
    let mut raid = top.section("raid", "raid")?;
    let stripe = values.time(&mut raid, "raid", "stripe")?;
    let parity = values.rate(&mut raid, "raid", "parity")?;
    raid.finish()?;
    let facts = values.facts;
    Ok(ControllerSpec { name, title, rate, queue_depth, command, stripe, parity, facts })
}
