//! Debian's dependencies and Kronecker graphs.
