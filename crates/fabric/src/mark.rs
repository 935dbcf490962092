//! What a program tells whoever watches it, and no memory ever sees.

/// A remark of a program about itself. A checker listens; natively and in a simulator it is
/// nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// A wait begins: what follows up to the next pause is repeated after it.
    Wait,
    /// All that the turns of this wait have left in the lane is this number, or what it is a digest
    /// of: two turns that leave the same are followed by the same. A turn says so first, of what
    /// it starts with, and last, of what it leaves.
    Carries(u64),
    /// This lane is inside section `0` now, where no other lane of the pod may be.
    Enter(u32),
    /// It is about to leave it.
    Leave(u32),
}
