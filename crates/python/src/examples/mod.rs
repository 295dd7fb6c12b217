//! Examples one at a time, as dicts, and events.

pub mod event;
pub mod example;
