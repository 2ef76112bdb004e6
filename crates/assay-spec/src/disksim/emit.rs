//! The writer of the device file: one line for each value, with the file that the value comes from.

use super::model::Model;
use super::specs::Specs;
use crate::device::{ReadAhead, ZoneSpec};
use crate::units::{Bytes, Nanos};
use std::fmt::{Display, Write};

const WIDTH: usize = 100;

pub(super) fn emit(name: &str, model: &Model, specs: &Specs, seek: &[(u32, Nanos)]) -> String {
    let mut out = Out(String::new());
    head(&mut out, name, model, specs);
    link(&mut out, specs);
    disk(&mut out, model);
    out.line("\n[seek]");
    let points = seek.iter().map(|(d, t)| format!("[{d}, {}]", t.0)).collect::<Vec<_>>();
    out.list("table_ns", &points, "source = \"seek\"");
    overhead(&mut out, specs);
    cache(&mut out, specs);
    out.line("\n[queue]");
    match specs.fcfs {
        true => out.text("order", "fcfs", "source = \"specs\""),
        false => {
            let why = "derived = \"DiskSim's scheduler reorders; this is the nearest we have\"";
            out.text("order", "sptf", why);
            out.text("age_limit", "1s", "assumed = \"a limit that is rarely met\"");
        }
    }
    out.0
}

struct Out(String);

impl Out {
    fn line(&mut self, text: impl Display) {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "{text}");
    }

    fn number(&mut self, key: &str, value: u64, origin: &str) {
        self.line(format_args!("{key} = {{ value = {value}, {origin} }}"));
    }

    fn text(&mut self, key: &str, value: impl Display, origin: &str) {
        self.line(format_args!("{key} = {{ value = \"{value}\", {origin} }}"));
    }

    fn time(&mut self, key: &str, value: Nanos, origin: &str) {
        self.text(key, value, origin);
    }

    fn flag(&mut self, key: &str, value: bool, origin: &str) {
        self.text(key, if value { "yes" } else { "no" }, origin);
    }

    /// Writes a long list, several items a line.
    fn list(&mut self, key: &str, items: &[String], origin: &str) {
        self.line(format_args!("{key} = {{ value = ["));
        self.wrapped("  ", items, ",");
        self.line(format_args!("], {origin} }}"));
    }

    fn wrapped(&mut self, indent: &str, items: &[String], end: &str) {
        let mut line = indent.to_owned();
        for (index, item) in items.iter().enumerate() {
            let comma = if index + 1 < items.len() { "," } else { end };
            if line.len() + item.len() + 2 > WIDTH && line.len() > indent.len() {
                self.line(line.trim_end());
                line = indent.to_owned();
            }
            line.push_str(item);
            line.push_str(comma);
            line.push(' ');
        }
        self.line(line.trim_end());
    }
}

/// Makes a name from a file safe for a TOML string.
fn plain(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_ .()/".contains(c);
    text.chars().map(|c| if fits(c) { c } else { '?' }).take(80).collect()
}

fn head(out: &mut Out, name: &str, model: &Model, specs: &Specs) {
    let disk = plain(&specs.name);
    let title = disk.trim_end_matches("_validate").replace('_', " ");
    out.line("# Imported from DiskSim's parameter files, which dixtrac took from a real disk.");
    for parameter in &specs.unmodelled {
        out.line(format_args!("# Not modelled: {parameter}"));
    }
    out.line("format = 1");
    out.line(format_args!("name = \"{name}\""));
    out.line(format_args!("title = \"{title}, as DiskSim has it\""));
    out.line("kind = \"hdd\"");
    let how = format!("derived = \"{} blocks of 512 bytes\"", model.blocks);
    out.text("capacity", format_args!("{}B", model.blocks.saturating_mul(512)), &how);
    out.line("\n[sources]");
    let set = "DiskSim 4.0 (CMU-PDL-08-101)";
    out.line(format_args!("model = \"{set}, dm_disk {}\"", plain(&model.name)));
    out.line(format_args!("specs = \"{set}, disksim_disk {disk}\""));
    out.line(format_args!("seek = \"{set}, seek curve of {disk}\""));
}

fn link(out: &mut Out, specs: &Specs) {
    out.line("\n[link]");
    match specs.per_sector.0 {
        0 => out.text("rate", "1GB/s", "assumed = \"DiskSim's link takes no time\""),
        ns => {
            let how = format!("derived = \"a sector in {}\"", specs.per_sector);
            let rate = 512_000_000_000_u64.div_ceil(ns);
            out.text("rate", format_args!("{rate}B/s"), &how);
        }
    }
    out.number("queue_depth", specs.queue, "source = \"specs\"");
    out.time("command", specs.per_request, "source = \"specs\"");
}

fn disk(out: &mut Out, model: &Model) {
    out.line("\n[disk]");
    out.number("rpm", model.rpm, "source = \"model\"");
    out.number("heads", model.heads, "source = \"model\"");
    out.flag("serpentine", model.serpentine, "source = \"model\"");
    out.number("spare_range", model.spare_range, "source = \"model\"");
    out.line("zones = { value = [");
    for zone in &model.zones {
        zone_lines(out, zone);
    }
    out.line("], source = \"model\" }");
    out.time("head_switch", model.head_switch, "source = \"model\"");
    out.time("write_settle", model.write_settle, "source = \"model\"");
}

fn zone_lines(out: &mut Out, zone: &ZoneSpec) {
    let skew = zone.skew.unwrap_or_default();
    let mut fields = vec![
        format!("first_cylinder = {}", zone.first_cylinder),
        format!("cylinders = {}", zone.cylinders),
        format!("sectors_per_track = {}", zone.sectors_per_track),
        format!("track_skew = {}", skew.track),
        format!("cylinder_skew = {}", skew.cylinder),
    ];
    let others = [("offset", u64::from(skew.offset)), ("front", zone.front)];
    for (key, value) in others.into_iter().chain([("spares", u64::from(zone.spares))]) {
        if value > 0 {
            fields.push(format!("{key} = {value}"));
        }
    }
    let slips = zone.slips.iter().map(u64::to_string).collect::<Vec<_>>();
    let remaps = zone.remaps.iter().map(|(a, b)| format!("[{a}, {b}]")).collect::<Vec<_>>();
    let lists = [("slips", slips), ("remaps", remaps)];
    let mut lists = lists.iter().filter(|(_, items)| !items.is_empty()).peekable();
    // In TOML 1.0 an inline table stands on one line, except for the inside of its lists.
    let close = if lists.peek().is_some() { ", " } else { " },\n" };
    out.0.push_str(&format!("  {{ {}{close}", fields.join(", ")));
    while let Some((key, items)) = lists.next() {
        out.line(format_args!("{key} = ["));
        out.wrapped("    ", items, "");
        out.0.push_str(if lists.peek().is_some() { "  ], " } else { "  ] },\n" });
    }
}

fn overhead(out: &mut Out, specs: &Specs) {
    out.line("\n[overhead]");
    let both = [("read_hit", specs.overheads.read_hit), ("read_miss", specs.overheads.read_miss)];
    for (what, [read, write]) in both.into_iter().chain([("write", specs.overheads.write)]) {
        out.time(&format!("{what}_after_read"), read, "source = \"specs\"");
        out.time(&format!("{what}_after_write"), write, "source = \"specs\"");
    }
    out.time("read_end", specs.overheads.read_end, "source = \"specs\"");
    out.time("write_end", specs.overheads.write_end, "source = \"specs\"");
}

fn cache(out: &mut Out, specs: &Specs) {
    let source = "source = \"specs\"";
    out.line("\n[cache]");
    let how = format!(
        "derived = \"{} segments of {} sectors\"",
        specs.cache.segments, specs.cache.segment_sectors
    );
    let size = specs.cache.segments.saturating_mul(specs.cache.segment_sectors).saturating_mul(512);
    out.text("size", Bytes(size), &how);
    out.number("segments", specs.cache.segments, source);
    out.number("write_segments", specs.cache.write_segments, source);
    let word = match specs.cache.read_ahead {
        ReadAhead::None => "none",
        ReadAhead::Track => "track",
        ReadAhead::Cylinder => "cylinder",
        ReadAhead::Segment => "segment",
        ReadAhead::Sequential => "sequential",
    };
    out.text("read_ahead", word, source);
    if specs.cache.most_ahead > 0 {
        out.text("read_ahead_limit", Bytes(specs.cache.most_ahead.saturating_mul(512)), source);
    }
    out.flag("join_read_ahead", specs.cache.almost, source);
    out.flag("read_whole_track", specs.cache.any_free, source);
    out.flag("read_on_arrival", specs.cache.read_on_arrival, source);
    out.flag("write_on_arrival", specs.cache.write_on_arrival, source);
    out.flag("read_written", specs.cache.read_written, source);
    let level = format!("derived = \"DiskSim's fast write level {}\"", specs.cache.fast_write);
    out.flag("write_cache", specs.cache.fast_write > 0, &level);
    out.flag("combine_writes", specs.cache.combine, source);
    let window = if specs.fcfs { 1 } else { 32 };
    let how = if specs.fcfs { source } else { "assumed = \"as many as firmware sorts at a time\"" };
    out.number("destage_window", window, how);
}
