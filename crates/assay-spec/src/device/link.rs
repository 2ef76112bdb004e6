//! The declaration of the link between host and drive.

use super::values::Values;
use crate::decode::{Decoded, Section};
use crate::units::{Nanos, Rate};

/// The link between host and drive.
#[derive(Clone, Copy, Debug)]
pub struct LinkSpec {
    /// The rate of the payload.
    pub rate: Rate,
    /// The largest number of requests that the drive holds at a time.
    pub queue_depth: u32,
    /// The time for each command in the drive's controller, before the medium is accessed.
    pub command: Nanos,
    /// For flash drives: the time that each read or write command takes on the link beside its
    /// data.
    pub setup: Nanos,
    /// For flash drives: the time between the drive's request for each 8 KiB of a write and their
    /// arrival. Nothing else is on the link in that time.
    pub activate: Nanos,
}

pub(super) fn decode(
    top: &mut Section<'_>,
    values: &mut Values,
    is_flash: bool,
) -> Decoded<LinkSpec> {
    let mut s = top.section("link", "link")?;
    let time = |values: &mut Values, s: &mut Section<'_>, key| values.time(s, "link", key);
    let mut spec = LinkSpec {
        rate: values.rate(&mut s, "link", "rate")?,
        queue_depth: values.count(&mut s, "link", "queue_depth", 1..1025)?,
        command: values.time(&mut s, "link", "command")?,
        setup: Nanos::ZERO,
        activate: Nanos::ZERO,
    };
    match is_flash {
        true => {
            spec.setup = values.optional(&mut s, "setup", Nanos::ZERO, time)?;
            spec.activate = values.optional(&mut s, "activate", Nanos::ZERO, time)?;
        }
        false => s.goes_with(&["setup", "activate"], "kind `ssd`"),
    }
    s.finish()?;
    Ok(spec)
}

#[cfg(test)]
mod tests {
    use crate::decode::Source;
    use crate::device::DeviceSpec;

    /// Decodes a bundled drive with `lines` added to `section`.
    fn with(name: &str, section: &str, lines: &str) -> Result<DeviceSpec, String> {
        let bundled = crate::catalog::DEVICES.iter().find(|d| d.name == name).expect("a drive");
        let head = format!("[{section}]\n");
        let text = match bundled.text.contains(&head) {
            true => bundled.text.replace(&head, &format!("{head}{lines}")),
            false => format!("{}\n{head}{lines}", bundled.text),
        };
        let spec = DeviceSpec::parse(Source { file: "drive.toml", text: &text });
        spec.map_err(|e| e.to_string())
    }

    #[test]
    fn frames_are_of_flash() {
        let line = "setup = { value = \"3us\", assumed = \"a test\" }\n";
        let spec = with("ssd-m", "link", line).expect("a drive");
        assert_eq!((spec.link.setup.0, spec.link.activate.0), (3000, 0));
        for name in ["exos-x24", "gp3-100"] {
            let error = with(name, "link", line).expect_err("nobody would read it");
            assert!(error.contains("kind `ssd`") && error.contains("setup"), "{error}");
        }
    }

    #[test]
    fn what_is_written_in_place_does_not_wear_out() {
        let key = |key| format!("{key} = {{ value = 9, assumed = \"a test\" }}\n");
        let lines = key("cycles") + &key("spread") + &key("spare_blocks");
        let error = with("optane-p4800x", "endurance", &lines).expect_err("there is no such thing");
        assert!(error.contains("endurance") && error.contains("drive.toml"), "{error}");
    }
}
