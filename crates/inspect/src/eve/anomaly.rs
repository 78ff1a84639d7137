//! What a line says of an anomaly.

use crate::anomaly::AnomalyKind;

/// The members for an anomaly. Names have nothing that JSON would escape.
pub(crate) fn anomaly_members(kind: AnomalyKind) -> Box<str> {
    let (layer, name) = (kind.layer(), kind.name());
    format!(r#""anomaly":{{"type":"{layer}","event":"{name}"}}"#).into()
}
