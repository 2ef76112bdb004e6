//! The bundled studies.

use assay_spec::array::parse_linux;
use assay_spec::catalog::STUDIES;
use assay_spec::decode::Source;
use assay_spec::experiment::Experiment;
use std::collections::BTreeMap;

/// A run measures a target once for all experiments of a study that name it. Two targets of one
/// name would get different names in cells, which no claim knows.
#[test]
fn a_name_is_one_target_in_all_experiments_of_a_study() {
    let mut names = 0;
    for study in STUDIES {
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        for file in study.experiments {
            let source = Source { file: file.name, text: file.text };
            let experiment = Experiment::parse(source).unwrap_or_else(|e| panic!("{e}"));
            for target in experiment.targets.iter().filter(|target| target.starts_with("linux(")) {
                let name = parse_linux(target).unwrap().name();
                let first = known.entry(name).or_insert_with(|| target.clone());
                assert_eq!(first, target, "{}, {}", study.name, file.name);
            }
        }
        names += known.len();
    }
    assert!(names > 80, "{names}");
}
