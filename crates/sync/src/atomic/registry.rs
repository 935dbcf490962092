//! The atomics by name.

use fabric::Arena;

use super::{
    Atomic64, CombiningAtomic, HardwareAtomic, LockedAtomic, Rmw, ServerAtomic, ShardedAtomic,
};
use crate::lock::Options;
use crate::names::named;

named! {
    /// Who operates on the word.
    Via {
        /// [`ServerAtomic`].
        Server = "server",
        /// [`CombiningAtomic`].
        Combining = "combining",
        /// [`LockedAtomic`].
        Lock = "lock",
        /// [`ShardedAtomic`].
        Sharded = "sharded",
        /// [`HardwareAtomic`].
        Hardware = "hardware",
    }
}

/// What is done with an atomic whose type is known.
pub trait AtomicVisitor {
    /// What it gives back.
    type Out;

    /// Does it.
    fn visit<A: Atomic64>(self, atomic: &A) -> Self::Out;
}

macro_rules! atomics {
    ($($variant:ident: $atomic:ty,)*) => {
        /// Any atomic, by its name.
        #[derive(Clone, Debug)]
        #[allow(missing_docs)] // named by `Via`
        pub enum AnyAtomic {
            $($variant($atomic),)*
        }

        impl AnyAtomic {
            /// Lays out the atomic operated on `via`.
            pub fn lay_out(via: Via, arena: &mut Arena, name: &str, options: &Options) -> Self {
                match via {
                    $(Via::$variant => {
                        Self::$variant(<$atomic>::lay_out(arena, name, options))
                    })*
                }
            }

            /// Calls `visitor` with the atomic.
            pub fn visit<V: AtomicVisitor>(&self, visitor: V) -> V::Out {
                match self {
                    $(Self::$variant(atomic) => visitor.visit(atomic),)*
                }
            }
        }

        impl Via {
            /// Whether a lane has to serve it.
            pub fn is_served(self) -> bool {
                match self {
                    $(Self::$variant => <$atomic as Atomic64>::SERVED,)*
                }
            }

            /// Whether it can do `op`.
            pub fn can(self, op: Rmw) -> bool {
                match self {
                    $(Self::$variant => <$atomic as Atomic64>::can(op),)*
                }
            }
        }
    };
}

atomics! {
    Server: ServerAtomic,
    Combining: CombiningAtomic,
    Lock: LockedAtomic,
    Sharded: ShardedAtomic,
    Hardware: HardwareAtomic,
}

impl Via {
    /// Whether it needs atomic instructions that work between hosts.
    pub fn is_hardware(self) -> bool {
        self == Self::Hardware
    }
}
