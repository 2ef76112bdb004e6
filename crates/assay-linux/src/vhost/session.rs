//! The session of one kernel with one block device.
//!
//! *Contract.* [`Session::answer`] takes any message and returns the answer. [`Session::take`]
//! takes the requests from the ring, and [`Session::end`] ends one. This module knows nothing of
//! time, sockets or drives. After an error, which a violation of the protocol gives, the session
//! is over.

use super::block::{self, BlockRequest, Status};
use super::memory::Memory;
use super::message::{Ask, Malformed, reply_config, reply_number, reply_state};
use super::ring::Ring;
use assay_spec::Bytes;
use std::os::fd::OwnedFd;

/// The features of the protocol: an answer to any message, requests of the device, the
/// configuration space, and notifications as messages. Without these the kernel would run on while
/// the device learns of a request, so virtual time could not stand still.
const PROTOCOL_FEATURES: u64 = 1 << 3 | 1 << 5 | 1 << 9 | 1 << 14;
/// The largest number of entries in a ring.
const RING_MAX: u32 = 1024;

/// The identity of a request under way, for [`Session::end`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    head: u16,
    status: u64,
    writable: u32,
}

/// The outcome of a message for the owner of the session.
#[derive(Debug, Default)]
pub struct Answer {
    /// The bytes to send back.
    pub reply: Option<Vec<u8>>,
    /// Whether the ring has new requests.
    pub is_kick: bool,
    /// The socket for the device's own requests, if the message brought it.
    pub backend: Option<OwnedFd>,
}

/// The state of one device.
#[derive(Debug)]
pub struct Session {
    features: u64,
    config: [u8; 60],
    memory: Memory,
    ring: Ring,
}

impl Session {
    /// Creates the session of a disk of `capacity` with blocks of `sector` bytes.
    pub fn new(capacity: Bytes, sector: Bytes, discards: bool) -> Session {
        Session {
            features: block::features(discards),
            config: block::config(capacity, sector),
            memory: Memory::default(),
            ring: Ring::default(),
        }
    }

    /// Returns the guest's memory.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Handles a message and returns the answer. `files` are the descriptors that came with it.
    ///
    /// # Errors
    /// If the message violates the protocol.
    pub fn answer(
        &mut self,
        request: u32,
        ask: Ask,
        wants_reply: bool,
        files: Vec<OwnedFd>,
    ) -> Result<Answer, Malformed> {
        let mut answer = Answer::default();
        let number = |value| Some(reply_number(request, value));
        match ask {
            Ask::GetFeatures => answer.reply = number(self.features),
            Ask::GetProtocolFeatures => answer.reply = number(PROTOCOL_FEATURES),
            Ask::GetQueueNum => answer.reply = number(1),
            Ask::GetConfig(offset, size) => {
                let from = self.config.iter().skip(offset as usize).copied();
                let config: Vec<u8> =
                    from.chain(std::iter::repeat(0)).take(size as usize).collect();
                answer.reply = Some(reply_config(request, offset, &config));
            }
            Ask::GetVringBase(ring) => {
                self.check(ring)?;
                self.ring.is_enabled = false;
                answer.reply = Some(reply_state(request, ring, u32::from(self.ring.next)));
            }
            Ask::SetMemTable(regions) => self.memory = Memory::new(regions, files)?,
            Ask::SetBackendFd => answer.backend = files.into_iter().next(),
            Ask::Kick(ring) => {
                self.check(ring)?;
                answer.is_kick = self.ring.is_enabled;
            }
            other => self.set(other)?,
        }
        if wants_reply && answer.reply.is_none() {
            answer.reply = Some(reply_number(request, 0));
        }
        Ok(answer)
    }

    fn set(&mut self, ask: Ask) -> Result<(), Malformed> {
        match ask {
            Ask::SetVringNum(ring, length) => {
                self.check(ring)?;
                let fits = length.is_power_of_two() && length <= RING_MAX;
                let length = Some(length).filter(|_| fits);
                let length = length.ok_or_else(|| Malformed("a ring of no length".into()))?;
                self.ring.length = length as u16;
            }
            Ask::SetVringBase(ring, base) => {
                self.check(ring)?;
                self.ring.restart(base as u16);
            }
            Ask::SetVringAddr(ring, [descriptors, used, available]) => {
                self.check(ring)?;
                let place = |user| {
                    let place = self.memory.guest_address(user);
                    place.ok_or_else(|| Malformed(format!("a ring at {user:#x}: no memory there")))
                };
                self.ring.places = Some([place(descriptors)?, place(used)?, place(available)?]);
            }
            Ask::SetVringEnable(ring, is_enabled) => {
                self.check(ring)?;
                self.ring.is_enabled = is_enabled;
            }
            // The features in use and the owner make no difference here.
            _ => {}
        }
        Ok(())
    }

    /// Checks that `ring` is the device's only one.
    fn check(&self, ring: u32) -> Result<(), Malformed> {
        if ring == 0 { Ok(()) } else { Err(Malformed(format!("ring {ring} of one"))) }
    }

    /// Looks into the ring for new requests.
    ///
    /// # Errors
    /// If the ring is not set up or invalid.
    pub fn look(&mut self) -> Result<(), Malformed> {
        if self.ring.is_enabled { self.ring.look(&self.memory) } else { Ok(()) }
    }

    /// Takes the next request that [`Session::look`] has seen.
    ///
    /// # Errors
    /// If the request is invalid.
    pub fn take(&mut self) -> Result<Option<(Ticket, BlockRequest)>, Malformed> {
        if !self.ring.is_enabled {
            return Ok(None);
        }
        let Some((head, pieces)) = self.ring.take(&self.memory)? else { return Ok(None) };
        let request = BlockRequest::parse(&self.memory, pieces)?;
        let ticket = Ticket { head, status: request.status, writable: request.writable };
        Ok(Some((ticket, request)))
    }

    /// Ends a request. The caller must then tell the kernel (`message::call`).
    pub fn end(&mut self, ticket: Ticket, status: Status) -> Result<(), Malformed> {
        self.memory.write(ticket.status, &[status as u8])?;
        self.ring.give(&self.memory, ticket.head, ticket.writable)
    }
}
