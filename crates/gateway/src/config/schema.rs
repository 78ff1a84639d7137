//! The documentation of a configuration, from its types.

use weir_reference::Reference;

use super::change::Search;
use super::document::{File, NamedPipeline, Port};
use super::model::{
    FabricConfig, FabricFilterConfig, HostOs, InspectConfig, IpsecConfig, MeasureConfig, PortKeys,
};
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
        .with::<FabricConfig>()
        .with::<FabricFilterConfig>()
        .with::<PortKeys>()
        .assert_documented("configuration");
}
