//! The messages of vhost-user that a kernel sends to its block device, and the answers.
//!
//! After the protocol's specification in QEMU's documentation (`interop/vhost-user.rst`) and the
//! driver that sends them, `virtio_uml` of Linux 6.12. A message is a header of three little-endian
//! words (request, flags, size of the payload) and a payload; file descriptors come with it. Any
//! bytes may arrive: invalid ones give a [`Malformed`], never a panic.

/// The size of a header, in bytes.
pub const HEADER: usize = 12;
/// The longest payload that is accepted, in bytes; no message of the protocol needs more.
pub const PAYLOAD_MAX: usize = 4096;

const VERSION: u32 = 1;
const VERSION_MASK: u32 = 0b11;
const REPLY: u32 = 1 << 2;
const NEED_REPLY: u32 = 1 << 3;

/// A violation of the protocol by a peer, as text for the error message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(pub String);

fn malformed<T>(what: impl Into<String>) -> Result<T, Malformed> {
    Err(Malformed(what.into()))
}

/// The header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The number of the request.
    pub request: u32,
    /// Whether the sender waits for an answer.
    pub wants_reply: bool,
    /// The size of the payload, in bytes.
    pub size: usize,
}

impl Header {
    /// Parses the header of a request.
    ///
    /// # Errors
    /// If it has another version, is a reply, or has a payload longer than [`PAYLOAD_MAX`].
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

/// A region of the guest's memory, in a file whose descriptor comes with the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The address in the guest.
    pub guest: u64,
    /// The size in bytes.
    pub size: u64,
    /// The address in the sender's process.
    pub user: u64,
    /// The offset in the file.
    pub offset: u64,
}

/// A request of a kernel to its block device, named as in the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Asks for the device's features.
    GetFeatures,
    /// Sets the features in use.
    SetFeatures(u64),
    /// Makes the sender the owner of the device.
    SetOwner,
    /// Sets the regions of the guest's memory.
    SetMemTable(Vec<Region>),
    /// Sets the length of a ring: ring, number of entries.
    SetVringNum(u32, u32),
    /// Sets the addresses of a ring, in the sender's process: descriptors, used, available.
    SetVringAddr(u32, [u64; 3]),
    /// Sets the next available entry of a ring: ring, entry.
    SetVringBase(u32, u32),
    /// Stops a ring, and asks for its next available entry.
    GetVringBase(u32),
    /// Asks for the features of the protocol.
    GetProtocolFeatures,
    /// Sets the features of the protocol in use.
    SetProtocolFeatures(u64),
    /// Asks for the number of rings.
    GetQueueNum,
    /// Starts or stops a ring.
    SetVringEnable(u32, bool),
    /// Sends the socket for the device's own requests.
    SetBackendFd,
    /// Asks for bytes of the configuration space: offset, number.
    GetConfig(u32, u32),
    /// Writes to the configuration space, where this device has nothing to set.
    SetConfig,
    /// Says that a ring has new requests (`VHOST_USER_VRING_KICK`).
    Kick(u32),
}

impl Ask {
    /// Parses the payload of `request`.
    ///
    /// # Errors
    /// If the request is unknown, or the payload is too short or invalid.
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

/// Returns the answer to a request that asks for a number.
pub fn reply_number(request: u32, value: u64) -> Vec<u8> {
    reply(request, &value.to_le_bytes())
}

/// Returns the answer to [`Ask::GetVringBase`].
pub fn reply_state(request: u32, ring: u32, value: u32) -> Vec<u8> {
    reply(request, &[ring.to_le_bytes(), value.to_le_bytes()].concat())
}

/// Returns the answer to [`Ask::GetConfig`].
pub fn reply_config(request: u32, offset: u32, config: &[u8]) -> Vec<u8> {
    let head = [offset, config.len() as u32, 0].map(u32::to_le_bytes).concat();
    reply(request, &[&head, config].concat())
}

fn reply(request: u32, payload: &[u8]) -> Vec<u8> {
    message(request, VERSION | REPLY, payload)
}

/// Returns the device's own request that says that requests of a ring have ended. It asks for a
/// reply.
pub fn call(ring: u32) -> Vec<u8> {
    const VRING_CALL: u32 = 4;
    message(VRING_CALL, VERSION | NEED_REPLY, &[ring.to_le_bytes(), [0; 4]].concat())
}

fn message(request: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let head = [request, flags, payload.len() as u32].map(u32::to_le_bytes).concat();
    [&head, payload].concat()
}

/// Reads the little-endian 32-bit word at `at`. Returns `None` beyond the end.
pub fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// Reads the little-endian 64-bit word at `at`. Returns `None` beyond the end.
pub fn wide(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}
