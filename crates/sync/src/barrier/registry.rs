//! The barriers by name.

use fabric::{Arena, Pod};

use super::{
    AllToAll, BarrierLayout, Central, Dissemination, HardwareBarrier, HostBarrier, RcceLinear,
    Tournament, TreeBarrier,
};
use crate::names::named;

named! {
    /// A barrier's name.
    BarrierAlgorithm {
        /// [`AllToAll`].
        AllToAll = "all-to-all",
        /// [`Dissemination`].
        Dissemination = "dissemination",
        /// [`Central`].
        Central = "central",
        /// [`RcceLinear`].
        RcceLinear = "rcce-linear",
        /// [`Tournament`].
        Tournament = "tournament",
        /// [`TreeBarrier`].
        Tree = "tree",
        /// [`HardwareBarrier`].
        Hardware = "hardware",
    }
}

/// What is done with a barrier whose type is known.
pub trait BarrierVisitor {
    /// What it gives back.
    type Out;

    /// Does it.
    fn visit<B: HostBarrier>(self, layout: &BarrierLayout<B>) -> Self::Out;
}

macro_rules! barriers {
    ($($variant:ident: $barrier:ty,)*) => {
        /// Any barrier, by its name; of all lanes.
        #[derive(Clone, Debug)]
        #[allow(missing_docs)] // named by `BarrierAlgorithm`
        pub enum AnyBarrier {
            $($variant(BarrierLayout<$barrier>),)*
        }

        impl AnyBarrier {
            /// Lays out the barrier called `algorithm`.
            pub fn lay_out(
                algorithm: BarrierAlgorithm,
                arena: &mut Arena,
                name: &str,
                pod: Pod,
                arity: u32,
            ) -> Self {
                match algorithm {
                    $(BarrierAlgorithm::$variant => {
                        Self::$variant(BarrierLayout::over(arena, name, pod, arity))
                    })*
                }
            }

            /// Calls `visitor` with the barrier.
            pub fn visit<V: BarrierVisitor>(&self, visitor: V) -> V::Out {
                match self {
                    $(Self::$variant(layout) => visitor.visit(layout),)*
                }
            }
        }
    };
}

barriers! {
    AllToAll: AllToAll,
    Dissemination: Dissemination,
    Central: Central,
    RcceLinear: RcceLinear,
    Tournament: Tournament,
    Tree: TreeBarrier,
    Hardware: HardwareBarrier,
}

impl BarrierAlgorithm {
    /// Whether it needs atomic instructions that work between hosts.
    pub fn is_hardware(self) -> bool {
        self == Self::Hardware
    }
}
