//! Arguments of several commands.

use clap::Args;

/// How many cores a command uses.
#[derive(Args, Debug)]
pub struct Shards {
    /// Worker threads that share the packets by flow or association, one per core. Results
    /// do not depend on the number.
    #[arg(long, alias = "shards", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub workers: u16,
}

/// Keys that are used for the first time.
#[derive(Args, Debug)]
pub struct NewKeys {
    /// Add the key of this SA ("all" for every SA) to the ledger, and create the ledger if
    /// it is missing. Only for keys that were never used anywhere; a key that the ledger
    /// knows continues where it stopped. May be given several times.
    #[arg(long, value_name = "NAME")]
    pub new_key: Vec<String>,
}
