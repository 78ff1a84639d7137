//! What grids and tracks are in a process.

use crate::stream_processor::machine::Technology;

/// A process: a [`Technology`] in numbers that areas and energies are
/// multiplied with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Process {
    /// Distance from one wire to the next.
    pub track_um: f64,
    /// Energy of a bit that travels so far.
    pub track_fj: f64,
}

impl Process {
    /// Energy is `share × C × V²`: a wire takes energy when it is charged.
    pub fn of(technology: &Technology) -> Process {
        let track_um = technology.track_features * technology.feature_um;
        let charge = technology.wire_ff_per_um * track_um * technology.supply_v;
        Process {
            track_um,
            track_fj: technology.discharges * charge * technology.supply_v,
        }
    }

    /// Square millimetres of an area in grids.
    pub fn square_mm(&self, grids: f64) -> f64 {
        grids * self.track_um * self.track_um * 1e-6
    }

    /// Joules of an energy in tracks.
    pub fn joules(&self, energy: f64) -> f64 {
        energy * self.track_fj * 1e-15
    }
}
