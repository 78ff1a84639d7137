//! What a line says of an anomaly.

use serde::Serialize;

use crate::anomaly::AnomalyKind;

/// The members of an anomaly beside those of its packet.
#[derive(Serialize)]
pub(crate) struct AnomalyMembers {
    anomaly: AnomalyObject,
}

#[derive(Serialize)]
struct AnomalyObject {
    #[serde(rename = "type")]
    layer: &'static str,
    event: &'static str,
}

impl AnomalyMembers {
    pub(crate) fn new(kind: AnomalyKind) -> AnomalyMembers {
        AnomalyMembers {
            anomaly: AnomalyObject {
                layer: kind.layer(),
                event: kind.name(),
            },
        }
    }
}
