//! Linux in virtual time: runs the real kernel on modelled drives, with the model as its clock.

#![forbid(unsafe_code)]

pub mod boot;
pub mod c_library;
pub mod child;
pub mod clock;
pub mod console;
pub mod disks;
pub mod error;
pub mod guest;
pub mod kernel;
pub mod kernel_build;
pub mod limits;
pub mod machine;
pub mod program;
mod socket_io;
pub mod store;
pub mod user;
pub mod vhost;
mod work;

pub use error::{Error, Result};
