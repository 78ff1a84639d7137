//! The keys of a type, in the order of its fields. A JSON Schema has them by name only.

use std::fmt;

use serde::de::{self, DeserializeOwned, Deserializer, Visitor};
use serde::forward_to_deserialize_any;

/// The keys of a struct, as serde knows them; none of another type.
pub(crate) fn fields_of<T: DeserializeOwned>() -> Option<&'static [&'static str]> {
    match T::deserialize(Asking) {
        Err(Asked::Fields(fields)) => Some(fields),
        Err(Asked::Other) | Ok(_) => None,
    }
}

/// A source without data. It learns what is wanted of it.
struct Asking;

/// What was wanted.
#[derive(Debug)]
enum Asked {
    Fields(&'static [&'static str]),
    Other,
}

impl<'de> Deserializer<'de> for Asking {
    type Error = Asked;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Asked> {
        Err(Asked::Fields(fields))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Asked> {
        Err(Asked::Other)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a source without data")
    }
}

impl std::error::Error for Asked {}

impl de::Error for Asked {
    fn custom<T: fmt::Display>(_: T) -> Asked {
        Asked::Other
    }
}
