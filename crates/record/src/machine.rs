//! The machine behind a host, as far as it can be read.
