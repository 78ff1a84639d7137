//! The schema of an SA file, for its documentation: what the types themselves do not say.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use weir_crypto::Suite;
use weir_packet::wire::protocol::ETHER_LOWEST;
use weir_reference::{Reference, shapes};

use super::document::{
    AssociationEntry, Document, Names, NatTEntry, NatTPorts, PolicyEntry, ProtocolWord, QuotaEntry,
    TunnelEntry,
};
use crate::policy::LinkProtocols;

/// Names of the suites that an SA may have.
pub(super) fn suites(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<String> = (Suite::all().filter(|suite| suite.is_esp()))
        .map(Suite::name)
        .collect();
    json_schema!({ "type": "string", "enum": names })
}

/// `"copy"`, or a number up to the largest.
pub(super) struct CopyOr<const LARGEST: u32>;

impl<const LARGEST: u32> JsonSchema for CopyOr<LARGEST> {
    fn schema_name() -> Cow<'static, str> {
        format!("CopyOr{LARGEST}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "string", "enum": ["copy"] },
                { "type": "integer", "minimum": 0, "maximum": LARGEST },
            ]
        })
    }
}

impl JsonSchema for Names {
    fn schema_name() -> Cow<'static, str> {
        "Names".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        shapes::one_or_more::<String>(generator)
    }
}

impl JsonSchema for ProtocolWord {
    fn schema_name() -> Cow<'static, str> {
        "ProtocolWord".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = LinkProtocols::names().collect();
        json_schema!({
            "anyOf": [
                { "type": "string", "enum": names },
                { "type": "string", "pattern": "^0x[0-9A-Fa-f]+$" },
                { "type": "integer", "minimum": ETHER_LOWEST, "maximum": u16::MAX },
            ]
        })
    }
}

impl JsonSchema for NatTEntry {
    fn schema_name() -> Cow<'static, str> {
        "NatTEntry".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "boolean" }, generator.subschema_for::<NatTPorts>()] })
    }
}

#[test]
fn references_describe_the_sa_file() {
    Reference::of::<Document>("SA file of Weir")
        .with::<AssociationEntry>()
        .with::<TunnelEntry>()
        .with::<NatTPorts>()
        .with::<QuotaEntry>()
        .with::<PolicyEntry>()
        .assert_documented("sa-file");
}
