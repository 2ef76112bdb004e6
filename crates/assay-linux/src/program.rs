//! The memory with the program that runs in a guest and with its job, apart from the guest's own
//! memory.
//!
//! A program that is read from a file takes room in the guest's page cache. Then another build of
//! assay would leave the file system under test another amount of memory, and it would send other
//! requests to the drives. So the host lays the program out as it runs, and the guest maps it
//! (`init.c`). The job and the heap lie there, too. The guest's kernel has the same memory with
//! every build, however long the description of the job is.
//!
//! *Layout of the memory:* a header, the program, the dynamic linker, the job; from [`HEAP`] on,
//! the heap.

use crate::error::{Error, Result};
use assay_spec::Bytes;
use object::LittleEndian;
use object::elf::{ET_DYN, FileHeader64, PT_INTERP, PT_LOAD};
use object::read::elf::{FileHeader, ProgramHeader};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The device through which a guest maps the memory.
pub const DEVICE: &str = "/dev/mmapper";
/// The name of that device in the kernel's parameter `iomem`.
pub(crate) const REGION: &str = "mmapper";
/// The guest address at which the program's part is mapped; `init.c` has the same numbers.
pub const WINDOW: u64 = 0x10_0000_0000;
/// The size of the program's part, in bytes.
pub const PROGRAM_SIZE: u64 = 64 << 20;
/// The offset of the heap in the memory.
pub const HEAP: u64 = PROGRAM_SIZE;
/// The size of the heap, in bytes.
pub const HEAP_SIZE: u64 = 192 << 20;
/// The offset of the header's field with the guest address of the heap.
pub const HEAP_START: u64 = 40;
/// The offset of two fields of the header: the job's offset in the memory, and its length in bytes.
const JOB: u64 = 48;

const PAGE: u64 = 4096;
/// The alignment of program and linker: larger than any page that a segment may need.
const ALIGNMENT: u64 = 2 << 20;

type Header = FileHeader64<LittleEndian>;

/// A program with its dynamic linker, in memory that one guest may use.
#[derive(Debug)]
pub(crate) struct Program(File);

/// The contents of the memory: the header, and pieces with their offsets.
#[derive(Debug)]
struct Image {
    header: [u64; 5],
    pieces: Vec<(u64, Vec<u8>)>,
    /// The offset of the job.
    end: u64,
}

impl Program {
    /// Lays out this process's program, and a job for it, in new memory.
    ///
    /// # Errors
    /// If the program cannot be read, or is no position-independent ELF file, or if program and job
    /// are larger than 64 MiB.
    pub(crate) fn with_job(job: &str) -> Result<Program> {
        static IMAGE: OnceLock<Image> = OnceLock::new();
        let image = match IMAGE.get() {
            Some(image) => image,
            None => {
                let path = std::env::current_exe().map_err(|e| {
                    let message = "assay cannot find its own program file";
                    Error::new("linux-system", message, "start assay by its full path").caused_by(e)
                })?;
                let image = Image::of(&path)?;
                IMAGE.get_or_init(|| image)
            }
        };
        let room = Bytes(PROGRAM_SIZE - image.end);
        if job.len() as u64 > room.0 {
            let message = format!("the guest's job is larger than {room}");
            let hint = "shorten the experiment's text, or the environment of the program";
            return Err(Error::new("linux-program", message, hint));
        }
        image.write(job).map(Program).map_err(|e| Error::system("memory for the program", e))
    }

    /// Returns the memory file.
    pub(crate) fn memory(&self) -> &File {
        &self.0
    }
}

impl Image {
    /// Lays out the program at `path` and its dynamic linker.
    fn of(path: &Path) -> Result<Image> {
        let mut image = Image { header: [0; 5], pieces: Vec::new(), end: 0 };
        let program = image.place(path, ALIGNMENT)?;
        let start = match &program.linker {
            None => program.entry,
            Some(path) => {
                let linker = image.place(path, program.end.next_multiple_of(ALIGNMENT))?;
                image.header[1] = linker.base;
                linker.entry
            }
        };
        image.header[0] = start;
        image.header[2..].copy_from_slice(&[program.entry, program.headers, program.header_count]);
        Ok(image)
    }

    /// Adds the segments of the file at `path`, from offset `at` of the memory on.
    fn place(&mut self, path: &Path, at: u64) -> Result<Placed> {
        let name = path.display();
        let bytes = std::fs::read(path).map_err(|e| Error::system(&name.to_string(), e))?;
        let unusual = |what: &str| {
            let hint = "build assay with `cargo build` on x86-64 Linux";
            Error::new("linux-program", format!("{name} cannot run in a guest: {what}"), hint)
        };
        let no_elf = |_| unusual("it is not an ELF file");
        let file = Header::parse(&*bytes).map_err(no_elf)?;
        let order = file.endian().map_err(no_elf)?;
        if file.e_type(order) != ET_DYN {
            return Err(unusual("it is not position-independent"));
        }
        let segments = file.program_headers(order, &*bytes).map_err(no_elf)?;
        let mut placed = Placed {
            base: WINDOW + at,
            entry: WINDOW + at + file.e_entry(order),
            headers: 0,
            header_count: segments.len() as u64,
            linker: None,
            end: at,
        };
        for segment in segments {
            let data = segment.data(order, &*bytes).map_err(|()| unusual("it is cut short"))?;
            let (address, offset) = (segment.p_vaddr(order), segment.p_offset(order));
            match segment.p_type(order) {
                PT_LOAD => {
                    if let Some(inside) = file.e_phoff(order).checked_sub(offset)
                        && inside < data.len() as u64
                    {
                        placed.headers = placed.base + address + inside;
                    }
                    self.pieces.push((at + address, data.to_vec()));
                    placed.end = placed.end.max(at + address + segment.p_memsz(order));
                }
                PT_INTERP => {
                    let text = data.strip_suffix(b"\0").and_then(|d| std::str::from_utf8(d).ok());
                    let text = text.ok_or_else(|| unusual("its dynamic linker has no name"))?;
                    placed.linker = Some(PathBuf::from(text));
                }
                _ => {}
            }
        }
        // The dynamic linker uses the rest of its last page.
        self.end = placed.end.next_multiple_of(PAGE);
        match self.end <= PROGRAM_SIZE {
            true => Ok(placed),
            false => Err(unusual("it is larger than 64 MiB")),
        }
    }

    fn write(&self, job: &str) -> io::Result<File> {
        let memory = memfd_create("assay-program", MemfdFlags::CLOEXEC)?;
        // The kernel takes a region to be a page longer than its file is.
        ftruncate(&memory, HEAP + HEAP_SIZE + PAGE)?;
        let memory = File::from(memory);
        for (at, bytes) in &self.pieces {
            memory.write_all_at(bytes, *at)?;
        }
        let header: Vec<u8> = self.header.iter().flat_map(|word| word.to_le_bytes()).collect();
        memory.write_all_at(&header, 0)?;
        memory.write_all_at(&self.end.to_le_bytes(), JOB)?;
        memory.write_all_at(&(job.len() as u64).to_le_bytes(), JOB + 8)?;
        memory.write_all_at(job.as_bytes(), self.end)?;
        Ok(memory)
    }
}

/// Reads the job that lies beside the program. `memory` is [`DEVICE`], in a guest.
///
/// # Errors
/// If it cannot be read, or is no text.
pub(crate) fn read_job(memory: &File) -> io::Result<String> {
    let field = |at| {
        let mut word = [0; 8];
        memory.read_exact_at(&mut word, at).map(|()| u64::from_le_bytes(word))
    };
    let (at, length) = (field(JOB)?, field(JOB + 8)?);
    let mut text = vec![0; length as usize];
    memory.read_exact_at(&mut text, at)?;
    String::from_utf8(text).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))
}

/// The guest addresses of a placed file; `end` is its end as an offset in the memory.
struct Placed {
    base: u64,
    entry: u64,
    headers: u64,
    header_count: u64,
    linker: Option<PathBuf>,
    end: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_laid_out_with_its_linker() {
        let image = Image::of(&std::env::current_exe().expect("it runs")).expect("it is usual");
        let [start, linker, entry, headers, count] = image.header;
        let inside = WINDOW..WINDOW + PROGRAM_SIZE;
        assert!([start, entry, headers].iter().all(|at| inside.contains(at)), "{image:?}");
        assert!(linker == 0 || (entry < linker && linker < start));
        assert!(count > 4);
        let memory = image.write("a job").expect("there is memory");
        assert_eq!(read_job(&memory).expect("it is there"), "a job");
        let mut magic = [0; 4];
        memory.read_exact_at(&mut magic, ALIGNMENT).expect("it is there");
        assert_eq!(&magic, b"\x7fELF");
    }

    #[test]
    fn what_is_no_program_is_refused() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        std::fs::write(file.path(), "#!/bin/sh\n").expect("room");
        let refused = Image::of(file.path()).expect_err("it is a script");
        assert_eq!(refused.id, "linux-program");
    }
}
