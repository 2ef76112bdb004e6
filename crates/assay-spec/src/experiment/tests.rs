//! Tests of hosts, families and steps as users write them.

use super::*;
use crate::units::Bytes;

const HEAD: &str = "format = 1\nname = \"e\"\nquestion = \"?\"\n";
const BODY: &str = "read_share = 1.0\nsize = \"4KiB\"\npattern = \"random\"\n";
const MEASURE: &str = "measure = { requests = 10 }\n";

fn parse(text: &str) -> Decoded<Experiment> {
    Experiment::parse(Source { file: "e.toml", text })
}

/// Decodes an experiment with one workload of these lines.
fn workload(lines: &str) -> Decoded<Vec<WorkloadSpec>> {
    parse(&format!("{HEAD}[[workload]]\n{lines}{MEASURE}")).map(|e| e.workloads)
}

fn names(lines: &str) -> Vec<String> {
    workload(lines).expect(lines).into_iter().map(|w| w.name).collect()
}

/// Checks the message, hint and column of a diagnostic.
fn refused(result: Decoded<impl std::fmt::Debug>, message: &str, hint: &str, column: usize) {
    let e = result.expect_err(message);
    assert!(e.message.contains(message), "{}", e.message);
    assert!(e.hint.contains(hint), "{}: {}", e.message, e.hint);
    assert_eq!(e.place.map(|p| p.column), Some(column), "{}", e.message);
}

#[test]
fn one_host_or_several_with_names() {
    let hosts = |lines: &str| {
        let text = format!("{HEAD}{lines}[[workload]]\nname = \"w\"\n{BODY}{MEASURE}");
        parse(&text).map(|e| e.hosts)
    };
    assert_eq!(hosts("").unwrap(), [HostVariant::default()]);
    let one = hosts("[host]\nqueue_depth = 1\n").unwrap();
    assert_eq!((one.len(), one[0].spec.queue_depth), (1, Some(1)));
    assert_eq!(one[0].target("ssd-m"), "ssd-m");
    let two = hosts("[[host]]\nqueue_depth = 1\n[[host]]\nname = \"ncq\"\n").unwrap();
    let of = |h: &HostVariant| (h.target("ssd-m"), h.spec.queue_depth);
    let cells: Vec<_> = two.iter().map(of).collect();
    assert_eq!(cells, [("ssd-m".to_owned(), Some(1)), ("ncq/ssd-m".to_owned(), None)]);

    let twice = "[[host]]\nname = \"a\"\n[[host]]\nname = \"a\"\n";
    refused(hosts(twice), "two hosts are called `a`", "NAME/TARGET", 8);
    refused(
        hosts("[[host]]\n[[host]]\n"),
        "two hosts have no name",
        "at most one may have none",
        1,
    );
    refused(hosts("[[host]]\nname = \"A b\"\n"), "`A b` cannot be a name", "use e.g. `a-b`", 8);
    refused(hosts("[[host]]\nqueue = 1\n"), "unknown key `queue`", "remove it", 1);
    refused(hosts("host = 3\n"), "`host` is an integer", "[host]", 8);
    refused(hosts("host = [1]\n"), "`host` is an array", "[host]", 8);
}

#[test]
fn a_cell_names_its_machine_before_the_target() {
    let text = format!("{HEAD}[host]\nname = \"ncq\"\n[[workload]]\nname = \"w\"\n{BODY}{MEASURE}");
    let experiment = parse(&text).unwrap();
    let plain = ["ncq/ssd-m", "ssd-m", "cfq/ssd-m"].map(|t| experiment.without_host(t));
    assert_eq!(plain, ["ssd-m", "ssd-m", "cfq/ssd-m"]);
}

#[test]
fn a_list_makes_a_workload_of_each_value() {
    let rest = "read_share = 1.0\nsize = \"4KiB\"\npattern = \"random\"\n";
    let lines =
        format!("name = \"r-{{range}}\"\nrange = [\"1GiB\", \"1GiB..30GB\", \"8MiB..\"]\n{rest}");
    assert_eq!(names(&lines), ["r-1g", "r-1g-30gb", "r-8m-end"]);
    let ranges: Vec<Span> = workload(&lines).unwrap().iter().map(|w| w.streams[0].span).collect();
    assert_eq!(
        ranges[1],
        Span { start: Bytes::GIB, end: Some(Bytes(30_000_000_000)), percent: None }
    );

    let lines = "name = \"{read_share}-{size}\"\nsize = [\"4KiB\", \"512B\"]\n\
                 read_share = [0, 0.5, 1, \"12.5%\"]\npattern = \"random\"\n";
    let expected = [
        "wr-4k",
        "rw50-4k",
        "rd-4k",
        "rw12-5-4k",
        "wr-512b",
        "rw50-512b",
        "rd-512b",
        "rw12-5-512b",
    ];
    assert_eq!(names(lines), expected, "the first list is outermost");
    let shares: Vec<f64> =
        workload(lines).unwrap().iter().map(|w| w.streams[0].read_share).collect();
    assert_eq!(shares[..4], [0.0, 0.5, 1.0, 0.125]);

    let lines = "name = \"s-{step}\"\nstep = [\"4KiB\", \"128MiB\"]\nread_share = 0.0\n\
                 size = \"4KiB\"\npattern = \"stride\"\n";
    assert_eq!(names(lines), ["s-4k", "s-128m"]);
    assert_eq!(
        names("name = \"s-{size}\"\nsize = [\"4KiB\"]\nread_share = 1\npattern = \"random\"\n"),
        ["s-4k"]
    );
}

/// A list in the environment of a program makes a family, too; its levels may have names.
#[test]
fn variables_of_a_program_make_a_family() {
    let text = "format = 1\nname = \"e\"\nquestion = \"?\"\n[[workload]]\n\
                name = \"{sync}-{clients}\"\ncommand = \"bench $clients $sync $scale\"\n\
                env = { clients = [1, 4], scale = 10, sync = { on = \"\", off = \"--off\" } }\n";
    let experiment = parse(text).unwrap_or_else(|e| panic!("{e}"));
    let names: Vec<&str> = experiment.workloads.iter().map(|w| w.name.as_str()).collect();
    assert_eq!(names, ["on-1", "off-1", "on-4", "off-4"]);
    let Some(FileWork::Program(work)) = &experiment.workloads[1].files else { panic!("a program") };
    let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let expected = [variable("clients", "1"), variable("scale", "10"), variable("sync", "--off")];
    assert_eq!(work.environment, expected);
    let lone = parse(&text.replace("{sync}-", "")).expect_err("the levels of `sync` have one name");
    assert!(lone.message.contains("a list of `sync`"), "{lone}");
    let one = parse(&text.replace("[1, 4]", "4")).expect_err("one value");
    assert!(one.message.contains("that variable has one value"), "{one}");
    let twice = parse(&text.replace("[1, 4]", "[1, 1]")).expect_err("one name");
    assert!(twice.message.contains("`clients` has the level `1` twice"), "{twice}");
}

#[test]
fn lists_that_make_no_family_are_refused() {
    let of = |name: &str, lists: &str| {
        let size = if lists.contains("size =") { "" } else { "size = \"4KiB\"\n" };
        workload(&format!(
            "name = \"{name}\"\n{lists}\n{size}read_share = 1.0\npattern = \"random\"\n"
        ))
    };
    let cases = [
        ("w", "range = [\"1GiB\"]", "a list of `range`", "`name = \"w-{range}\"`", 9),
        ("w-{range}", "", "the name has `{range}`, but there is no list", "`range = [\"1GiB\"", 8),
        (
            "w-{range}",
            "range = \"1GiB\"",
            "the name has `{range}`, but there is no list",
            "range = [",
            8,
        ),
        ("w-{range}", "range = []", "the list of `range` is empty", "makes one workload", 9),
        ("w-{range}", "range = [\"1GiB\", \"x\"]", "not a quantity: `x`", "number first", 18),
        ("w-{range}", "range = [\"1GiB\", 3]", "`range` is an integer", "quotes", 18),
        ("w-{size}", "size = [\"4KiB\", \"1000B\"]", "a request cannot have 1kB", "`1KiB`", 17),
        ("w-{range}", "range = [\"1GiB\", \"1024MiB\"]", "two workloads are called `w-1g`", "", 8),
        (
            "w-{step}",
            "step = [\"4KiB\"]",
            "`step` is only allowed with pattern `stride`",
            "remove",
            1,
        ),
        ("W-{size}", "size = [\"4KiB\"]", "`W-4k` cannot be a name", "use e.g. `w-4k`", 8),
    ];
    for (name, lists, message, hint, column) in cases {
        refused(of(name, lists), message, hint, column);
    }
    let many = |key: &str| format!("{key} = [{}]", vec!["\"4KiB\""; 40].join(", "));
    let three = format!("{}\n{}\nstep = [\"4KiB\"]", many("range"), many("size"));
    refused(of("{range}-{size}-{step}", &three), "make too many workloads", "shorten a list", 8);
}

#[test]
fn lists_in_parts_of_a_workload_are_refused() {
    let stream = "[[workload.stream]]\nread_share = 1.0\nsize = [\"4KiB\"]\npattern = \"random\"\n";
    let text = format!("{HEAD}[[workload]]\nname = \"w\"\n{MEASURE}{stream}{stream}");
    refused(parse(&text), "cannot have a list of `size`", "to the workload itself", 8);
    let text = format!(
        "{HEAD}[[workload]]\nname = \"w\"\n{BODY}{MEASURE}[[workload.precondition]]\n\
                        read_share = [0, 1]\nbytes = \"1MiB\"\n"
    );
    refused(parse(&text), "cannot have a list of `read_share`", "to the workload itself", 14);
}

fn steps(lines: &str) -> Decoded<WorkloadSpec> {
    let text = format!("{HEAD}[[workload]]\nname = \"w\"\njobs = 64\n{BODY}{MEASURE}{lines}");
    parse(&text).map(|mut e| e.workloads.remove(0))
}

#[test]
fn a_target_is_prepared_in_steps() {
    let writes = "read_share = 0.0\nsize = \"8KiB\"\npattern = \"random\"\nbytes = \"1MiB\"\n";
    let one = steps(&format!("[workload.precondition]\n{writes}")).unwrap();
    assert_eq!((one.phases.precondition.len(), one.deepest()), (1, 64));
    let several = format!(
        "[[workload.precondition]]\n{writes}[[workload.precondition]]\n{writes}think = \"10ms\"\n\
         [[workload.precondition]]\nidle = \"1h\"\n[[workload.precondition]]\n{writes}\
         queue_depth = 128\nthink = \"1ms\"\n"
    );
    let several = steps(&several).unwrap();
    let steps = &several.phases.precondition;
    let depths: Vec<u32> = steps.iter().map(|s| s.depth(several.slots())).collect();
    assert_eq!(depths, [32, 1, 0, 128]);
    assert_eq!(steps[2], Step::Idle(Nanos::from_secs(3600)));
    assert_eq!((several.deepest(), several.max_size()), (128, Bytes(8192)));
    assert!(several.writes(), "in its preparation");
    assert!(steps[2].stream().is_none() && steps[3].stream().is_some());
}

#[test]
fn steps_that_cannot_be_are_refused() {
    let step = |lines: &str| steps(&format!("[[workload.precondition]]\n{lines}\n"));
    let cases = [
        ("idle = \"0\"", "the step is empty", "leave the step out", 8),
        ("idle = \"9000h\"", "`idle` = 32400000s is out of range", "`idle = \"8760h\"`", 8),
        ("idle = 3", "`idle` has no unit", "in quotes", 8),
        (
            "idle = \"1h\"\nsize = \"4KiB\"",
            "`size` is only allowed with a step without `idle`",
            "remove",
            1,
        ),
        ("idl = \"1h\"", "phase has no `read_share`", "", 1),
    ];
    for (lines, message, hint, column) in cases {
        refused(step(lines), message, hint, column);
    }
    refused(steps("precondition = 3\n").map(|_| ()), "`precondition` is an integer", "", 16);
}

#[test]
fn the_cache_and_the_first_requests_have_defaults() {
    let of = |lines: &str| {
        workload(&format!("name = \"w\"\n{BODY}{lines}")).map(|w| (w[0].write_cache, w[0].first))
    };
    assert_eq!(of("").unwrap(), (true, 0));
    assert_eq!(of("write_cache = false\nfirst = 100000\n").unwrap(), (false, 100_000));
    refused(of("first = 100001\n"), "`first` = 100001 is out of range", "`first = 100000`", 9);
    refused(of("write_cache = \"off\"\n"), "`write_cache` is a string", "= false`", 15);
}

#[test]
fn a_repository_takes_the_place_of_what_is_made() {
    let file = crate::catalog::STUDIES
        .iter()
        .flat_map(|study| study.experiments)
        .find(|e| e.text.contains("file = \"git\""))
        .expect("oslo09 checks out");
    let checkouts = |text: &str| {
        let experiment = Experiment::parse(Source { file: "test", text }).expect("decodes");
        let works = experiment.workloads.into_iter().filter_map(|w| w.files);
        let all = works.filter_map(|work| match work {
            FileWork::Checkouts(checkouts) => Some(checkouts.history),
            _ => None,
        });
        all.collect::<Vec<History>>()
    };
    assert!(checkouts(file.text).iter().all(|h| matches!(h, History::Made(_))));
    for path in ["/a \"quoted\" one", "/another"] {
        let once = Experiment::with_repository(file.text, path).expect("it has some");
        let twice = Experiment::with_repository(&once, "/else").expect("it has some");
        let taken = |path: &str| vec![History::Repository(path.to_owned()); checkouts(&once).len()];
        assert_eq!((checkouts(&once), checkouts(&twice)), (taken(path), taken("/else")));
    }
    let quick = crate::catalog::STUDIES.iter().find(|s| s.name == "quick").expect("a study");
    assert_eq!(Experiment::with_repository(quick.experiments[0].text, "/x"), None);
}

#[test]
fn repeats_are_as_written_or_as_asked_for() {
    let text = |lines: &str| format!("{HEAD}{lines}[[workload]]\nname = \"w\"\n{BODY}{MEASURE}");
    let of = |text: &str| parse(text).map(|e| (e.repeats.count, e.repeats.full));
    assert_eq!(of(&text("")).unwrap(), (1, 1));
    assert_eq!(of(&text("repeats = 2\nrepeats_full = 5\n")).unwrap(), (2, 5));
    refused(of(&text("repeats = 3\nrepeats_full = 2\n")), "`repeats_full` = 2 is out of", "3", 16);
    for lines in ["", "repeats = 2\n", "repeats_full = 5 # five\n", "repeats_full=9\nrepeats=2\n"] {
        let more = Experiment::repeated(&text(lines), 7);
        assert_eq!(of(&more).unwrap(), (7, 7), "{more}");
    }
}
