//! Plain text for terminals and tools: tables, the ledger, a comparison, CSV. No colours, no
//! escapes. Text from files is kept as it is: whoever shows it looks for
//! [`is_unseen`](crate::unseen::is_unseen).

mod costs;
mod csv;
mod factors;
pub(crate) mod number;
mod owned;
mod pair;
mod programs;
mod table;
mod tables;
pub(crate) mod trace;

pub(crate) use costs::money;
pub use csv::csv;
pub use number::{count, plus_minus, rate, time, time_unit};
pub use owned::owned;
pub use table::Table;
pub(crate) use tables::note_lines;
pub use tables::{comparison, ledger_table, summary_table};
pub use trace::trace_tables;
