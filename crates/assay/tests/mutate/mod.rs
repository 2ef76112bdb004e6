//! Makes random changes to valid files, and runs the program on the results.

// Each test that includes this module uses only a part of it.
#![allow(dead_code)]

use serde_json::Value;
use std::cell::RefCell;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Bytes of memory that a child may take or even ask for; a request for more is refused.
pub const MEMORY: u64 = 512 << 20;
/// The time that a child may take; a minute more once it was told to stop, on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A xorshift generator: these tests need variety, not quality.
pub struct Random(pub u64);

impl Random {
    /// Returns a number below `n`, or 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }

    fn of<'t, T: ?Sized>(&mut self, all: &[&'t T]) -> &'t T {
        all[self.below(all.len())]
    }
}

const NUMBERS: [&str; 17] = [
    "0",
    "-1",
    "1",
    "2",
    "3",
    "0.5",
    "1e308",
    "-1e308",
    "1e999",
    "NaN",
    "inf",
    "-inf",
    "65536",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "340282366920938463463374607431768211456",
];

/// Returns a string that is too long, empty, of another kind, or not to be shown.
fn text(random: &mut Random) -> String {
    match random.below(8) {
        0 => "x".repeat(100_000),
        1 => String::new(),
        2 => "\u{1b}[2J\u{202e}\u{0}".to_owned(),
        3 => "../../../etc/passwd".to_owned(),
        4 => "<script>\"'&".to_owned(),
        5 => random.of(&NUMBERS).to_owned(),
        6 => format!("{}GiB", random.of(&NUMBERS)),
        _ => "é漢🦀".repeat(3),
    }
}

/// Returns the bytes with a few of them changed, cut, inserted or removed.
pub fn bytes(right: &[u8], random: &mut Random) -> Vec<u8> {
    let mut data = right.to_vec();
    for _ in 0..1 + random.below(4) {
        let at = random.below(data.len());
        match random.below(7) {
            0 => data.truncate(at),
            1 => data.insert(at, random.below(256) as u8),
            2 if !data.is_empty() => data[at] ^= 1 << random.below(8),
            3 if !data.is_empty() => drop(data.drain(at..(at + random.below(40)).min(data.len()))),
            4 => {
                let end = (at + 1 + random.below(8)).min(data.len());
                data[at..end].fill(if random.below(2) == 0 { 0xff } else { 0 });
            }
            5 => {
                let end = (at + random.below(200)).min(data.len());
                let piece = data[at..end].to_vec();
                let to = random.below(data.len());
                drop(data.splice(to..to, piece));
            }
            _ if !data.is_empty() => data[at] = random.below(256) as u8,
            _ => {}
        }
    }
    data
}

/// Collects places in a value, as JSON pointers; of a list, the first 20.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                places(
                    value,
                    &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")),
                    found,
                );
            }
        }
        Value::Array(list) => {
            let shown = list.iter().enumerate().take(20);
            shown.for_each(|(i, value)| places(value, &format!("{at}/{i}"), found));
        }
        _ => {}
    }
}

/// Returns the document with values replaced, removed, doubled or exchanged. Numbers that a JSON
/// value cannot hold are put into its text.
pub fn document(right: &Value, random: &mut Random) -> Vec<u8> {
    let mut value = right.clone();
    let mut raw = Vec::new();
    for _ in 0..1 + random.below(3) {
        let mut all = Vec::new();
        places(&value, "", &mut all);
        let place = all[random.below(all.len())].clone();
        let other = all[random.below(all.len())].clone();
        let copy = value.pointer(&other).cloned().unwrap_or_default();
        let Some(slot) = value.pointer_mut(&place) else { continue };
        match random.below(7) {
            0 | 1 => {
                raw.push(random.of(&NUMBERS));
                *slot = Value::String(format!("@{}@", raw.len() - 1));
            }
            2 => *slot = Value::String(text(random)),
            3 => *slot = copy,
            4 => *slot = [Value::Null, true.into(), Value::Array(vec![])][random.below(3)].clone(),
            _ => in_container(slot, random),
        }
    }
    let mut text = value.to_string();
    for (index, number) in raw.iter().enumerate() {
        text = text.replace(&format!("\"@{index}@\""), number);
    }
    text.into_bytes()
}

/// Doubles, drops or exchanges parts of a list or a table, or changes a number or a string.
fn in_container(slot: &mut Value, random: &mut Random) {
    match slot {
        Value::Array(list) if !list.is_empty() => {
            let (at, other) = (random.below(list.len()), random.below(list.len()));
            match random.below(3) {
                0 => drop(list.remove(at)),
                1 => list.insert(other, list[at].clone()),
                _ => list.swap(at, other),
            }
        }
        Value::Object(map) if !map.is_empty() => {
            let keys: Vec<String> = map.keys().cloned().collect();
            let key = &keys[random.below(keys.len())];
            let value = map.remove(key).unwrap_or_default();
            if random.below(2) == 0 {
                map.insert(format!("{key}x"), value);
            }
        }
        Value::Number(n) => {
            let n = n.as_u64().unwrap_or(0);
            *slot = [n.wrapping_add(1), n.wrapping_sub(1), n / 2, n.wrapping_mul(1000)]
                [random.below(4)]
            .into();
        }
        Value::String(s) => s.push_str(&text(random)),
        other => *other = Value::Object(serde_json::Map::new()),
    }
}

/// Returns the text with some of its numbers, strings and lines changed.
pub fn lines(right: &str, random: &mut Random) -> Vec<u8> {
    let mut lines: Vec<String> = right.lines().map(str::to_owned).collect();
    for _ in 0..1 + random.below(3) {
        let at = random.below(lines.len());
        let other = random.below(lines.len());
        match random.below(8) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(other, lines[at].clone()),
            2 => lines.swap(at, other),
            3 => {
                let mut parts: Vec<&str> = lines[at].split('"').collect();
                let text = text(random);
                if let Some(part) = parts.get_mut(1) {
                    *part = &text;
                }
                lines[at] = parts.join("\"");
            }
            4 => lines[at] = String::from_utf8_lossy(&bytes(lines[at].as_bytes(), random)).into(),
            _ => lines[at] = number(&lines[at], random),
        }
        if lines.is_empty() {
            break;
        }
    }
    lines.join("\n").into_bytes()
}

/// Returns the line with one of its numbers replaced.
fn number(line: &str, random: &mut Random) -> String {
    let is_digit = |c: char| c.is_ascii_digit();
    let starts: Vec<usize> = line
        .match_indices(is_digit)
        .map(|(at, _)| at)
        .filter(|at| !line[..*at].ends_with(is_digit))
        .collect();
    let Some(start) = starts.get(random.below(starts.len())) else { return line.to_owned() };
    let length = line[*start..].find(|c| !is_digit(c)).unwrap_or(line.len() - start);
    format!("{}{}{}", &line[..*start], random.of(&NUMBERS), &line[start + length..])
}

/// The end of a child process.
pub struct Ended {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub memory: u64,
    pub said: String,
    /// Whether it had to be told to stop.
    pub was_stopped: bool,
}

/// Runs the command in `place`. If it takes longer than `patience`, it is told to stop, and must.
pub fn run(place: &Path, arguments: &[&str], patience: Option<Duration>) -> Ended {
    let told = place.join("stderr");
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.current_dir(place).args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(File::create(&told).expect("made"));
    let processors = two_processors();
    // SAFETY: between fork and exec there are two system calls, on values of our own.
    unsafe {
        command.pre_exec(move || {
            let limit = libc::rlimit { rlim_cur: MEMORY, rlim_max: MEMORY };
            let size = size_of_val(&processors);
            let is_done = libc::setrlimit(libc::RLIMIT_AS, &limit) == 0
                && libc::sched_setaffinity(0, size, &processors) == 0;
            if is_done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        });
    }
    // It is waited for below, by the call that also tells its memory.
    #[allow(clippy::zombie_processes)]
    let child = command.spawn().expect("the binary runs");
    let pid = child.id() as i32;
    let (begun, mut was_stopped) = (Instant::now(), false);
    let (status, memory) = loop {
        if let Some(ended) = ended(pid) {
            break ended;
        }
        if patience.is_some_and(|p| begun.elapsed() > p) && !was_stopped {
            was_stopped = true;
            signal(pid, libc::SIGINT);
        }
        let most = if was_stopped { PATIENCE * 4 } else { PATIENCE };
        if begun.elapsed() > most {
            signal(pid, libc::SIGKILL);
        }
        std::thread::sleep(Duration::from_micros(500));
    };
    let code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
    let signal = libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status));
    let said = String::from_utf8_lossy(&std::fs::read(&told).expect("there")).into_owned();
    Ended { code, signal, memory, said, was_stopped }
}

/// Returns two of the available processors, others each time, because what is measured side by side
/// takes memory for each processor.
fn two_processors() -> libc::cpu_set_t {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let next = NEXT.fetch_add(2, Relaxed);
    // SAFETY: an all-zero set is valid, and the calls are given only sets of our own.
    unsafe {
        let (mut all, mut two): (libc::cpu_set_t, libc::cpu_set_t) = std::mem::zeroed();
        assert_eq!(libc::sched_getaffinity(0, size_of_val(&all), &mut all), 0);
        let there = (0..libc::CPU_SETSIZE as usize).filter(|cpu| libc::CPU_ISSET(*cpu, &all));
        let there: Vec<usize> = there.collect();
        (next..next + 2).for_each(|i| libc::CPU_SET(there[i % there.len()], &mut two));
        two
    }
}

/// Returns the status of a child that has ended, and its peak memory in bytes.
fn ended(pid: i32) -> Option<(i32, u64)> {
    let mut status = 0;
    // SAFETY: an all-zero `rusage` is valid, and both pointers are to values of our own.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let found = unsafe { libc::wait4(pid, &mut status, libc::WNOHANG, &mut usage) };
    (found == pid).then_some((status, usage.ru_maxrss as u64 * 1024))
}

fn signal(pid: i32, signal: i32) {
    // SAFETY: the child has not been waited for, so the number is still its own.
    unsafe { libc::kill(pid, signal) };
}

/// The exit codes of a program that has not panicked.
const CODES: [i32; 6] = [0, 1, 2, 3, 4, 130];

thread_local! {
    /// Everything that went wrong in this test.
    static WRONG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// The number of failures after which a test need not go on.
const ENOUGH: usize = 12;

fn is_wrong(text: String) {
    WRONG.with_borrow_mut(|all| all.push(text));
    if WRONG.with_borrow(Vec::len) >= ENOUGH {
        nothing_is_wrong();
    }
}

/// Fails with everything that went wrong.
pub fn nothing_is_wrong() {
    let all = WRONG.take();
    assert!(all.is_empty(), "{}", all.join("\n\n"));
}

/// Runs a command that only reads: it must end by itself, with a code of its own, in little memory.
pub fn survives(place: &Path, arguments: &[&str], what: &dyn Fn() -> String) -> i32 {
    let ended = run(place, arguments, None);
    judge(&ended, false, &|| format!("{}: {arguments:?}", what()));
    ended.code.unwrap_or(2)
}

/// Runs a command that may rightly be asked for a lot: it must end by itself or when told to.
pub fn obeys(place: &Path, arguments: &[&str], what: &dyn Fn() -> String) {
    let ended = run(place, arguments, Some(Duration::from_secs(2)));
    let is_obedient = ended.was_stopped && ended.signal == Some(libc::SIGINT);
    judge(&ended, is_obedient, &|| format!("{}: {arguments:?}", what()));
}

/// Checks what every command must keep to.
fn judge(ended: &Ended, is_obedient: bool, what: &dyn Fn() -> String) {
    let Ended { code, signal, memory, said, .. } = ended;
    let wrong = |why: &str| is_wrong(format!("{}: {why}: {said}", what()));
    if !is_obedient && !code.is_some_and(|code| CODES.contains(&code)) {
        wrong(&format!("{code:?} {signal:?}"));
    } else if *memory > MEMORY {
        wrong(&format!("{memory} bytes"));
    } else if *code == Some(2) && !said.contains("\nhint: ") {
        wrong("no hint");
    }
}

/// Makes a directory, in memory if possible: these tests write much that nobody wants to keep.
pub fn place() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")))
        .expect("a temporary directory")
}

/// Keeps a failing input; returns in words where.
pub fn keep(name: &str, round: usize, data: &[u8]) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mutated-{round}-{name}"));
    let _ = std::fs::write(&path, data);
    format!("round {round}: {}", path.display())
}
