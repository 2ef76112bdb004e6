//! The declaration of controllers: cards that several drives share, alone or as an array.

use super::fact::Fact;
use super::values::Values;
use crate::decode::{Decoded, Section, Source, document};
use crate::name::{bad_name, is_name};
use crate::units::{Nanos, Rate};

/// The declaration of a controller.
#[derive(Clone, Debug)]
pub struct ControllerSpec {
    /// The name that is used in `controller=NAME` and `@NAME`.
    pub name: String,
    /// The title, for people.
    pub title: String,
    /// The rate of the payload between the host and all drives together.
    pub rate: Rate,
    /// The number of host requests that the controller accepts at a time.
    pub queue_depth: u32,
    /// The time of the controller's processor for a host request.
    pub command: Nanos,
    /// The additional link time for each member request of an array that the controller makes: the
    /// set-up of the transfer.
    pub stripe: Nanos,
    /// The rate at which the controller computes parity.
    pub parity: Rate,
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
