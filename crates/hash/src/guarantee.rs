//! Proven properties of hash families.

/// A bound that holds for every choice of different keys, over the random
/// choice of the function. R is the number of values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Property {
    /// Pr\[h(x) = h(y)\] ≤ 1/R (Carter and Wegman 1979).
    Universal,
    /// Pr\[h(x) = h(y)\] ≤ ε (Stinson 1994).
    AlmostUniversal,
    /// Pr\[h(x) - h(y) = d\] ≤ ε for every d of the group of values, so that a
    /// value may be sent with a one-time pad **added** in that group (Stinson
    /// 1996). The group follows.
    AlmostDeltaUniversal(Group),
    /// Pr\[h(x) = s and h(y) = t\] = 1/R² for all s and t (Wegman and Carter
    /// 1981).
    StronglyUniversal,
    /// Pr\[h(x) = s and h(y) = t\] ≤ ε/R (Stinson 1994).
    AlmostStronglyUniversal,
    /// k-independent: any k distinct keys hash independently and uniformly.
    KUniversal(u32),
    /// No bound is proven; the documentation of the type says what is known.
    Unproven,
}

/// The group in which hash values are subtracted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Group {
    /// Numbers modulo this one.
    Modulo(u128),
    /// Strings of bits under exclusive or, where "Δ-universal" is usually called
    /// "xor-universal".
    Xor,
}

/// A property, its ε, and the source of the proof.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Guarantee {
    /// The property.
    pub property: Property,
    /// The ε of the property; 1/R where the property has none.
    pub epsilon: f64,
    /// Publication with the proof.
    pub source: &'static str,
    /// Key length of this function in bytes.
    pub key_bytes: usize,
}

/// A hash function that states the property of its family.
pub trait Guaranteed {
    /// The property of the family, for the messages that this function accepts.
    fn guarantee(&self) -> Guarantee;
}
