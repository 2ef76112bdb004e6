//! Where the files of DiskSim's disks are: in the directory `ASSAY_DATA`, or beside the repository.

#![allow(dead_code)]

use assay_spec::decode::Source;
use assay_spec::device::DeviceSpec;
use std::path::{Path, PathBuf};

/// The files of one disk.
pub struct Paths {
    pub model: PathBuf,
    pub specs: PathBuf,
    pub seek: PathBuf,
    pub trace: PathBuf,
    /// Its name in our catalogue.
    pub name: String,
}

impl Paths {
    pub fn of(disk: &str) -> Paths {
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
        Paths::within(&std::env::var_os("ASSAY_DATA").map_or(beside, PathBuf::from), disk)
    }

    /// Those in the directory `data`.
    pub fn within(data: &Path, disk: &str) -> Paths {
        let file = |ending: &str| data.join("disksim").join(format!("{disk}.{ending}"));
        Paths {
            model: file("model"),
            specs: file("diskspecs"),
            seek: file("seek"),
            trace: file("trace"),
            name: disk.to_lowercase().replace('_', "-"),
        }
    }
}

/// The text of a file, if it is there.
pub fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// The device file the importer makes of a disk's files, if they are there.
pub fn import(paths: &Paths) -> Option<Result<String, assay_spec::disksim::ImportError>> {
    let (model, specs, seek) = (read(&paths.model)?, read(&paths.specs)?, read(&paths.seek)?);
    Some(assay_spec::disksim::import(&model, &specs, &seek, &paths.name))
}

/// The disk, through the importer.
pub fn device(paths: &Paths) -> DeviceSpec {
    let text = import(paths).expect("its files are there").unwrap_or_else(|e| panic!("{e}"));
    DeviceSpec::parse(Source { file: &paths.name, text: &text }).unwrap_or_else(|e| panic!("{e}"))
}
