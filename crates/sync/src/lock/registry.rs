//! The locks by name.

use fabric::{Arena, Pod};

use super::{
    Bakery, BakeryFastPath, BurnsLynch, Fischer, HardwareMcs, HardwareSpin, HardwareTicket,
    LamportFast, Lock, McsServer, Options, PetersonTournament, ReadWrite, Szymanski, TicketServer,
    TokenRing, TwoLevel, YangAnderson,
};
use crate::names::named;

named! {
    /// A lock's name.
    Algorithm {
        /// [`TicketServer`].
        TicketServer = "ticket-server",
        /// [`McsServer`].
        McsServer = "mcs-server",
        /// [`Bakery`].
        Bakery = "bakery",
        /// [`BakeryFastPath`].
        BakeryFastPath = "bakery-fast-path",
        /// [`LamportFast`].
        LamportFast = "lamport-fast",
        /// [`PetersonTournament`].
        PetersonTournament = "peterson-tournament",
        /// [`YangAnderson`].
        YangAnderson = "yang-anderson",
        /// [`Szymanski`].
        Szymanski = "szymanski",
        /// [`BurnsLynch`].
        BurnsLynch = "burns-lynch",
        /// [`TokenRing`].
        TokenRing = "token-ring",
        /// [`Fischer`].
        Fischer = "fischer",
        /// [`HardwareSpin`].
        HardwareSpin = "hardware-spin",
        /// [`HardwareTicket`].
        HardwareTicket = "hardware-ticket",
        /// [`HardwareMcs`].
        HardwareMcs = "hardware-mcs",
    }
}

/// What is done with a lock whose type is known: where names end and monomorphic code begins.
pub trait LockVisitor {
    /// What it gives back.
    type Out;

    /// Does it.
    fn visit<L: Lock>(self, lock: &L) -> Self::Out;
}

/// The same for a lock of readers and writers.
pub trait ReadWriteVisitor {
    /// What it gives back.
    type Out;

    /// Does it.
    fn visit<L: Lock>(self, lock: &ReadWrite<L>) -> Self::Out;
}

macro_rules! locks {
    ($($variant:ident: $lock:ty,)*) => {
        /// Any lock, by its name. Members are lanes, host by host.
        #[derive(Clone, Debug)]
        #[allow(missing_docs)] // named by `Algorithm`
        pub enum AnyLock {
            $($variant($lock),)*
        }

        impl AnyLock {
            /// Lays out the lock called `algorithm`; between hosts, with a local lock inside each.
            pub fn lay_out(
                algorithm: Algorithm,
                arena: &mut Arena,
                name: &str,
                options: &Options,
            ) -> Self {
                match algorithm {
                    $(Algorithm::$variant => {
                        Self::$variant(<$lock>::lay_out(arena, name, options))
                    })*
                }
            }

            /// Calls `visitor` with the lock.
            pub fn visit<V: LockVisitor>(&self, visitor: V) -> V::Out {
                match self {
                    $(Self::$variant(lock) => visitor.visit(lock),)*
                }
            }
        }

        /// A lock of readers and writers over any lock, by that one's name. Readers are hosts.
        #[derive(Clone, Debug)]
        #[allow(missing_docs)] // named by `Algorithm`
        pub enum AnyReadWrite {
            $($variant(ReadWrite<$lock>),)*
        }

        impl AnyReadWrite {
            /// Lays it out; `algorithm` is the lock among writers.
            pub fn lay_out(
                algorithm: Algorithm,
                arena: &mut Arena,
                name: &str,
                options: &Options,
            ) -> Self {
                match algorithm {
                    $(Algorithm::$variant => {
                        Self::$variant(ReadWrite::lay_out(arena, name, options))
                    })*
                }
            }

            /// Calls `visitor` with the lock.
            pub fn visit<V: ReadWriteVisitor>(&self, visitor: V) -> V::Out {
                match self {
                    $(Self::$variant(lock) => visitor.visit(lock),)*
                }
            }
        }

        impl Algorithm {
            /// Whether hosts that do not acquire it have to pass it on.
            pub fn is_tended(self) -> bool {
                match self {
                    $(Self::$variant => <$lock as Lock>::TENDED,)*
                }
            }

            /// Whether a lane has to serve it.
            pub fn is_served(self) -> bool {
                match self {
                    $(Self::$variant => <$lock as Lock>::SERVED,)*
                }
            }
        }
    };
}

locks! {
    TicketServer: TwoLevel<TicketServer>,
    McsServer: TwoLevel<McsServer>,
    Bakery: TwoLevel<Bakery>,
    BakeryFastPath: TwoLevel<BakeryFastPath>,
    LamportFast: TwoLevel<LamportFast>,
    PetersonTournament: TwoLevel<PetersonTournament>,
    YangAnderson: TwoLevel<YangAnderson>,
    Szymanski: TwoLevel<Szymanski>,
    BurnsLynch: TwoLevel<BurnsLynch>,
    TokenRing: TwoLevel<TokenRing>,
    Fischer: TwoLevel<Fischer>,
    HardwareSpin: HardwareSpin,
    HardwareTicket: HardwareTicket,
    HardwareMcs: HardwareMcs,
}

impl Algorithm {
    /// Whether it is made of atomic instructions: across hosts only where hardware keeps the pod
    /// coherent.
    pub fn is_hardware(self) -> bool {
        matches!(
            self,
            Self::HardwareSpin | Self::HardwareTicket | Self::HardwareMcs
        )
    }

    /// The pod over which it is laid out when lanes of `hosts` hosts contend: hardware locks of one
    /// host lie in that host's DRAM.
    pub fn pod(self, pod: Pod, hosts: u32) -> Pod {
        if self.is_hardware() && hosts == 1 {
            Pod::new(1, pod.lanes)
        } else {
            pod
        }
    }
}
