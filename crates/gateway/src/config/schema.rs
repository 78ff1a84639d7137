//! The documentation of a configuration, from its types.

use weir_reference::Reference;

use super::change::Search;
use super::document::{File, NamedPipeline, Port};
use super::model::{HostOs, InspectConfig, IpsecConfig, MeasureConfig};
use crate::filter::{FilterConfig, FilterRule};

#[test]
fn references_describe_the_configuration() {
    Reference::of::<File>("Configuration of weir run")
        .with::<Port>()
        .with::<NamedPipeline>()
        .with::<FilterConfig>()
        .with::<FilterRule>()
        .with::<InspectConfig>()
        .with::<HostOs>()
        .with::<MeasureConfig>()
        .with::<Search>()
        .with::<IpsecConfig>()
        .assert_documented("configuration");
}
