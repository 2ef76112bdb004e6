//! The messages of vhost-user that a kernel sends to its block device, and the answers.
//!
//! After the protocol's specification in QEMU's documentation (`interop/vhost-user.rst`) and the
//! driver that sends them, `virtio_uml` of Linux 6.12. A message is a header of three little-endian
//! words (request, flags, size of the payload) and a payload; descriptors come beside it. Any bytes
//! may arrive: what makes no sense becomes a [`Malformed`], never a panic.

/// Bytes of a header.
pub const HEADER: usize = 12;
/// The longest payload there is a use for: a whole configuration space.
pub const PAYLOAD_MAX: usize = 4096;

const VERSION: u32 = 1;
const VERSION_MASK: u32 = 0b11;
const REPLY: u32 = 1 << 2;
const NEED_REPLY: u32 = 1 << 3;

/// What a peer sent that no peer should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(pub String);

fn malformed<T>(what: impl Into<String>) -> Result<T, Malformed> {
    Err(Malformed(what.into()))
}

/// A header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Number of the request.
    pub request: u32,
    /// Whether the sender waits for an answer.
    pub wants_reply: bool,
    /// Bytes of the payload.
    pub size: usize,
}

impl Header {
    /// Reads the header of a request.
    ///
    /// # Errors
    /// If the version is another, it is a reply, or the payload is longer than [`PAYLOAD_MAX`].
    pub fn parse(bytes: &[u8; HEADER]) -> Result<Header, Malformed> {
        let [request, flags, size] = [0, 4, 8].map(|at| word(bytes, at).expect("three words"));
        if flags & VERSION_MASK != VERSION || flags & REPLY != 0 {
            return malformed(format!("a message with flags {flags:#x}"));
        }
        if size as usize > PAYLOAD_MAX {
            return malformed(format!("a message of {size} bytes"));
        }
        Ok(Header { request, wants_reply: flags & NEED_REPLY != 0, size: size as usize })
    }
}

/// A piece of the guest's memory, in the file whose descriptor came with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Address in the guest.
    pub guest: u64,
    /// Bytes.
    pub size: u64,
    /// Address in the sender's own space.
    pub user: u64,
    /// Where it begins in the file.
    pub offset: u64,
}

/// What a kernel may ask of its block device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Which features there are.
    GetFeatures,
    /// These are used.
    SetFeatures(u64),
    /// The sender owns the device.
    SetOwner,
    /// Where the guest's memory is.
    SetMemTable(Vec<Region>),
    /// Length of a ring.
    SetVringNum(u32, u32),
    /// Where a ring is, in the sender's own space: descriptors, used, available.
    SetVringAddr(u32, [u64; 3]),
    /// The next available entry to look at.
    SetVringBase(u32, u32),
    /// Stops a ring, and asks where it is.
    GetVringBase(u32),
    /// Which features the protocol has.
    GetProtocolFeatures,
    /// These are used.
    SetProtocolFeatures(u64),
    /// How many rings there are.
    GetQueueNum,
    /// Starts or stops a ring.
    SetVringEnable(u32, bool),
    /// Where the device may ask back.
    SetBackendFd,
    /// So many bytes of the configuration space, from this one on.
    GetConfig(u32, u32),
    /// Writes there; the device has nothing to set.
    SetConfig,
    /// There is something in a ring.
    Kick(u32),
}

impl Ask {
    /// Reads the payload of `request`.
    ///
    /// # Errors
    /// If there is no such request, or the payload has another length.
    pub fn parse(request: u32, payload: &[u8]) -> Result<Ask, Malformed> {
        let short = || Malformed(format!("request {request} with {} bytes", payload.len()));
        let number = || wide(payload, 0).ok_or_else(short);
        let state = || Some((word(payload, 0)?, word(payload, 4)?));
        let state = || state().ok_or_else(short);
        Ok(match request {
            1 => Ask::GetFeatures,
            2 => Ask::SetFeatures(number()?),
            3 => Ask::SetOwner,
            5 => Ask::SetMemTable(regions(payload)?),
            8 => state().map(|(ring, length)| Ask::SetVringNum(ring, length))?,
            9 => {
                let (ring, _) = state()?;
                let address = |at| wide(payload, at).ok_or_else(short);
                Ask::SetVringAddr(ring, [address(8)?, address(16)?, address(24)?])
            }
            10 => state().map(|(ring, base)| Ask::SetVringBase(ring, base))?,
            11 => state().map(|(ring, _)| Ask::GetVringBase(ring))?,
            15 => Ask::GetProtocolFeatures,
            16 => Ask::SetProtocolFeatures(number()?),
            17 => Ask::GetQueueNum,
            18 => state().map(|(ring, enable)| Ask::SetVringEnable(ring, enable != 0))?,
            21 => Ask::SetBackendFd,
            24 => {
                let (offset, size) = state()?;
                let end = offset.checked_add(size).filter(|end| *end as usize <= PAYLOAD_MAX - 12);
                end.ok_or_else(short)?;
                Ask::GetConfig(offset, size)
            }
            25 => Ask::SetConfig,
            35 => state().map(|(ring, _)| Ask::Kick(ring))?,
            other => return malformed(format!("request {other}, which a block device has not")),
        })
    }
}

fn regions(payload: &[u8]) -> Result<Vec<Region>, Malformed> {
    let count = word(payload, 0).ok_or_else(|| Malformed("an empty memory table".into()))?;
    if !(1..=8).contains(&count) {
        return malformed(format!("a memory table of {count} regions"));
    }
    let region = |i: u32| {
        let at = |field: usize| wide(payload, 8 + 32 * i as usize + 8 * field);
        Some(Region { guest: at(0)?, size: at(1)?, user: at(2)?, offset: at(3)? })
    };
    let all: Option<Vec<Region>> = (0..count).map(region).collect();
    all.ok_or_else(|| Malformed("a memory table that is cut off".into()))
}

/// The answer to a request: a number.
pub fn reply_number(request: u32, value: u64) -> Vec<u8> {
    reply(request, &value.to_le_bytes())
}

/// The answer to [`Ask::GetVringBase`].
pub fn reply_state(request: u32, ring: u32, value: u32) -> Vec<u8> {
    reply(request, &[ring.to_le_bytes(), value.to_le_bytes()].concat())
}

/// The answer to [`Ask::GetConfig`].
pub fn reply_config(request: u32, offset: u32, config: &[u8]) -> Vec<u8> {
    let head = [offset, config.len() as u32, 0].map(u32::to_le_bytes).concat();
    reply(request, &[&head, config].concat())
}

fn reply(request: u32, payload: &[u8]) -> Vec<u8> {
    message(request, VERSION | REPLY, payload)
}

/// The device's own request: there is something in the used ring; it waits for the answer.
pub fn call(ring: u32) -> Vec<u8> {
    const VRING_CALL: u32 = 4;
    message(VRING_CALL, VERSION | NEED_REPLY, &[ring.to_le_bytes(), [0; 4]].concat())
}

fn message(request: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let head = [request, flags, payload.len() as u32].map(u32::to_le_bytes).concat();
    [&head, payload].concat()
}

/// The little-endian word at `at`, if it is there.
pub fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// The little-endian double word at `at`, if it is there.
pub fn wide(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}
