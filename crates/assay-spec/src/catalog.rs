//! The files that are bundled with the program: device specs, studies, ledgers and prices, compiled
//! in.
//!
//! They are const slices in the order of the documentation. A test fails when a file in `devices/`,
//! `studies/` or `prices/` is not listed here, or does not decode.

/// A file that is bundled with the program.
#[derive(Clone, Copy, Debug)]
pub struct Bundled {
    /// The name, as the user types it.
    pub name: &'static str,
    /// The file name for diagnostics.
    pub file: &'static str,
    /// The whole text of the file.
    pub text: &'static str,
}

macro_rules! bundled {
    ($name:literal, $file:literal) => {
        Bundled { name: $name, file: $file, text: include_str!(concat!("../../../", $file)) }
    };
}

/// The bundled device specs.
pub const DEVICES: &[Bundled] = &[
    bundled!("ssd-l", "devices/ssd-l.toml"),
    bundled!("ssd-m", "devices/ssd-m.toml"),
    bundled!("ssd-h", "devices/ssd-h.toml"),
    bundled!("x25-m-g2", "devices/x25-m-g2.toml"),
    bundled!("mtron-mobi-16", "devices/mtron-mobi-16.toml"),
    bundled!("mtron-sata3025", "devices/mtron-sata3025.toml"),
    bundled!("memoright-gt-16", "devices/memoright-gt-16.toml"),
    bundled!("iodrive-80", "devices/iodrive-80.toml"),
    bundled!("ts32gssd25s", "devices/ts32gssd25s.toml"),
    bundled!("wd1600js", "devices/wd1600js.toml"),
    bundled!("wd740adfd", "devices/wd740adfd.toml"),
    bundled!("st380013as", "devices/st380013as.toml"),
    bundled!("barracuda-7200-11", "devices/barracuda-7200-11.toml"),
    bundled!("cheetah-10k", "devices/cheetah-10k.toml"),
    bundled!("cheetah-15k", "devices/cheetah-15k.toml"),
    bundled!("dell-7200", "devices/dell-7200.toml"),
    bundled!("samsung-870-evo-250", "devices/samsung-870-evo-250.toml"),
    bundled!("samsung-980-pro-250", "devices/samsung-980-pro-250.toml"),
    bundled!("samsung-pm983", "devices/samsung-pm983.toml"),
    bundled!("solidigm-p5336", "devices/solidigm-p5336.toml"),
    bundled!("optane-p4800x", "devices/optane-p4800x.toml"),
    bundled!("exos-x24", "devices/exos-x24.toml"),
    bundled!("seagate-archive-8tb", "devices/seagate-archive-8tb.toml"),
    bundled!("gp3-100", "devices/gp3-100.toml"),
    bundled!("gp2-100", "devices/gp2-100.toml"),
    bundled!("atlas-iii", "devices/atlas-iii.toml"),
    bundled!("barracuda", "devices/barracuda.toml"),
    bundled!("cheetah4lp", "devices/cheetah4lp.toml"),
    bundled!("atlas10k", "devices/atlas10k.toml"),
    bundled!("cheetah9lp", "devices/cheetah9lp.toml"),
    bundled!("ibm18es", "devices/ibm18es.toml"),
    bundled!("reference-7", "devices/reference-7.toml"),
    bundled!("reference-28", "devices/reference-28.toml"),
];

/// The bundled controllers, which drives share.
pub const CONTROLLERS: &[Bundled] = &[
    bundled!("perc-6i", "devices/controllers/perc-6i.toml"),
    bundled!("areca-1680", "devices/controllers/areca-1680.toml"),
];

/// The bundled processors: of machines that documents used, and one of today.
pub const PROCESSORS: &[Bundled] = &[
    bundled!("core-2-2660", "devices/processors/core-2-2660.toml"),
    bundled!("xeon-x5550", "devices/processors/xeon-x5550.toml"),
    bundled!("xeon-emerald-rapids", "devices/processors/xeon-emerald-rapids.toml"),
    bundled!("amd64-3ghz", "devices/processors/amd64-3ghz.toml"),
    bundled!("pentium-d-3200", "devices/processors/pentium-d-3200.toml"),
    bundled!("pentium-4-2660", "devices/processors/pentium-4-2660.toml"),
];

/// A study: experiments that answer the questions of one document, or of one occasion.
#[derive(Clone, Copy, Debug)]
pub struct Study {
    /// The name, as the user types it.
    pub name: &'static str,
    /// The title: one line for people.
    pub title: &'static str,
    /// The experiments of the study.
    pub experiments: &'static [Bundled],
    /// The names of the ledgers whose claims are checked against the study's cells.
    pub ledgers: &'static [&'static str],
}

/// The bundled studies.
pub const STUDIES: &[Study] = &[
    Study {
        name: "quick",
        title: "Four workloads that show most of how a drive behaves",
        experiments: &[bundled!("general", "studies/quick/general.toml")],
        ledgers: &["sigmetrics09"],
    },
    Study {
        name: "sigmetrics09",
        title: "Seven questions about flash drives (Chen, Koufaty, Zhang, SIGMETRICS 2009)",
        experiments: &[
            bundled!("general", "studies/quick/general.toml"),
            bundled!("schedulers", "studies/sigmetrics09/schedulers.toml"),
            bundled!("parallel-io", "studies/sigmetrics09/parallel-io.toml"),
            bundled!("first-fill", "studies/sigmetrics09/first-fill.toml"),
            bundled!("first-fill-80", "studies/sigmetrics09/first-fill-80.toml"),
            bundled!("reads", "studies/sigmetrics09/reads.toml"),
            bundled!("writes", "studies/sigmetrics09/writes.toml"),
            bundled!("disk-cache", "studies/sigmetrics09/disk-cache.toml"),
            bundled!("interference", "studies/sigmetrics09/interference.toml"),
            bundled!("background", "studies/sigmetrics09/background.toml"),
            bundled!("randomness", "studies/sigmetrics09/randomness.toml"),
            bundled!("range", "studies/sigmetrics09/range.toml"),
            bundled!("fragmentation", "studies/sigmetrics09/fragmentation.toml"),
        ],
        ledgers: &["sigmetrics09"],
    },
    Study {
        name: "cmu08",
        title: "Eight drives under ext3 (Polte, Simsa, Gibson, PDSW 2008)",
        experiments: &[
            bundled!("iozone", "studies/cmu08/iozone.toml"),
            bundled!("iozone-disks", "studies/cmu08/iozone-disks.toml"),
            bundled!("disks-for-the-money", "studies/cmu08/disks-for-the-money.toml"),
        ],
        ledgers: &["cmu08"],
    },
    Study {
        name: "sara10",
        title: "Arrays of flash drives and their bottlenecks (Carlier, Muller, SARA 2010)",
        experiments: &[
            bundled!("scaling", "studies/sara10/scaling.toml"),
            bundled!("zfs", "studies/sara10/zfs.toml"),
            bundled!("hardware-raid", "studies/sara10/hardware-raid.toml"),
            bundled!("wear", "studies/sara10/wear.toml"),
            bundled!("raid-levels", "studies/sara10/raid-levels.toml"),
            bundled!("block-size", "studies/sara10/block-size.toml"),
            bundled!("combined", "studies/sara10/combined.toml"),
            bundled!("factorial", "studies/sara10/factorial.toml"),
        ],
        ledgers: &["sara10"],
    },
    Study {
        name: "oslo09",
        title: "File systems, elevators, checkouts and streams (Retvedt, Oslo 2009)",
        experiments: &[
            bundled!("zoning", "studies/oslo09/zoning.toml"),
            bundled!("filesystems", "studies/oslo09/filesystems.toml"),
            bundled!("file-operations", "studies/oslo09/file-operations.toml"),
            bundled!("system-disk", "studies/oslo09/system-disk.toml"),
            bundled!("schedulers", "studies/oslo09/schedulers.toml"),
            bundled!("streaming", "studies/oslo09/streaming.toml"),
        ],
        ledgers: &["oslo09"],
    },
    Study {
        name: "modern",
        title: "Drives of today beside the figures of their makers, and beyond them",
        experiments: &[
            bundled!("sata", "studies/modern/sata.toml"),
            bundled!("client", "studies/modern/client.toml"),
            bundled!("steady", "studies/modern/steady.toml"),
            bundled!("life", "studies/modern/life.toml"),
            bundled!("small-writes", "studies/modern/small-writes.toml"),
            bundled!("flush", "studies/modern/flush.toml"),
            bundled!("in-place", "studies/modern/in-place.toml"),
            bundled!("volumes", "studies/modern/volumes.toml"),
            bundled!("nearline", "studies/modern/nearline.toml"),
            bundled!("shingled", "studies/modern/shingled.toml"),
        ],
        ledgers: &["modern"],
    },
    Study {
        name: "databases",
        title: "Databases on drives from 2003 to 2026, their settings, file systems and arrays",
        experiments: &[
            bundled!("commits", "studies/databases/commits.toml"),
            bundled!("sqlite-settings", "studies/databases/sqlite-settings.toml"),
            bundled!("postgresql-settings", "studies/databases/postgresql-settings.toml"),
            bundled!("database-file-systems", "studies/databases/file-systems.toml"),
            bundled!("database-arrays", "studies/databases/arrays.toml"),
        ],
        ledgers: &["databases"],
    },
];

/// The bundled ledgers.
pub const LEDGERS: &[Bundled] = &[
    bundled!("sigmetrics09", "studies/sigmetrics09/claims.toml"),
    bundled!("cmu08", "studies/cmu08/claims.toml"),
    bundled!("sara10", "studies/sara10/claims.toml"),
    bundled!("oslo09", "studies/oslo09/claims.toml"),
    bundled!("modern", "studies/modern/claims.toml"),
    bundled!("databases", "studies/databases/claims.toml"),
];

/// The bundled price lists, oldest first. The price list of a study has the study's name.
pub const PRICES: &[Bundled] = &[
    bundled!("sigmetrics09", "prices/sigmetrics09.toml"),
    bundled!("cmu08", "prices/cmu08.toml"),
    bundled!("oslo09", "prices/oslo09.toml"),
];

/// Returns the entry with this name.
pub fn find(entries: &'static [Bundled], name: &str) -> Option<&'static Bundled> {
    entries.iter().find(|b| b.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Ledger;
    use crate::decode::Source;
    use crate::device::{ControllerSpec, DeviceSpec, ProcessorSpec};
    use crate::experiment::Experiment;
    use crate::prices::PriceList;

    fn source(b: &Bundled) -> Source<'static> {
        Source { file: b.file, text: b.text }
    }

    #[test]
    fn everything_bundled_decodes_under_its_name() {
        for device in DEVICES {
            let spec = DeviceSpec::parse(source(device)).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(spec.name, device.name);
        }
        let mut dates = Vec::new();
        for list in PRICES {
            let prices = PriceList::parse(source(list)).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(prices.name, list.name);
            dates.push(prices.date);
        }
        assert!(dates.is_sorted(), "{dates:?}");
        for controller in CONTROLLERS {
            let spec = ControllerSpec::parse(source(controller)).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(spec.name, controller.name);
        }
        for processor in PROCESSORS {
            let spec = ProcessorSpec::parse(source(processor)).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(spec.name, processor.name);
        }
        for experiment in STUDIES.iter().flat_map(|s| s.experiments) {
            let spec = Experiment::parse(source(experiment)).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(spec.name, experiment.name);
        }
        for ledger in LEDGERS {
            let spec = Ledger::parse(source(ledger)).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(spec.study, ledger.name);
        }
    }

    #[test]
    fn the_ledgers_hold_every_claim() {
        let wanted = [("sigmetrics09", 'S', 40), ("cmu08", 'C', 18), ("sara10", 'R', 22)];
        for (study, letter, count) in wanted.into_iter().chain([
            ("oslo09", 'T', 21),
            ("modern", 'M', 26),
            ("databases", 'D', 11),
        ]) {
            let bundled = find(LEDGERS, study).expect("listed");
            let ledger = Ledger::parse(source(bundled)).unwrap_or_else(|e| panic!("{e}"));
            // Contradictions that others found have ids `I-…`, outside the numbering of the
            // document.
            let claims = ledger.claims.iter().filter(|c| !c.id.starts_with("I-"));
            let ids: Vec<String> = claims.map(|c| c.id.clone()).collect();
            let expected: Vec<String> = (1..=count).map(|n| format!("{letter}-{n:02}")).collect();
            assert_eq!(ids, expected);
        }
    }
}
