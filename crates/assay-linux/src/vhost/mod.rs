//! A vhost-user block device: the messages, the guest's memory, the ring, the requests.

pub mod block;
pub mod memory;
pub mod message;
pub mod ring;
pub mod session;
