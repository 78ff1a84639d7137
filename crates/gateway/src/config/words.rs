//! Values that people write.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;
use std::time::Duration;

use anyhow::anyhow;
use serde::Deserialize;
use serde::de::value::{SeqAccessDeserializer, StrDeserializer};
use serde::de::{self, DeserializeOwned, Deserializer, SeqAccess, Visitor};

use crate::error::Error;

/// The shortest interval: timestamps of captures are no finer.
const SHORTEST: Duration = Duration::from_nanos(1);

/// A length of time from seconds.
///
/// # Errors
/// It is not positive, or no duration.
pub fn seconds(number: f64) -> Result<Duration, Error> {
    Duration::try_from_secs_f64(number)
        .ok()
        .filter(|duration| *duration >= SHORTEST)
        .ok_or_else(|| {
            Error::configuration(anyhow!(
                "an interval of {number} seconds: use a positive number of at least {:e}",
                SHORTEST.as_secs_f64()
            ))
        })
}

/// A value that is written as text.
pub fn from_text<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: FromStr<Err: std::fmt::Display>,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(serde::de::Error::custom)
}

/// A list of texts, or one of them alone.
pub fn one_or_many<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    struct OneOrMany<T>(PhantomData<T>);

    impl<'de, T: DeserializeOwned> Visitor<'de> for OneOrMany<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string or a list of strings")
        }

        fn visit_str<E: de::Error>(self, one: &str) -> Result<Vec<T>, E> {
            T::deserialize(StrDeserializer::new(one)).map(|one| vec![one])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, many: A) -> Result<Vec<T>, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(many))
        }
    }

    deserializer.deserialize_any(OneOrMany(PhantomData))
}

pub fn some_one_or_many<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    one_or_many(deserializer).map(Some)
}
