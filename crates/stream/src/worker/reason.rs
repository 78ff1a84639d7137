//! Why the frame itself drops records.

crate::drop_reasons! {
    /// Why a live pipeline drops records that no stage dropped.
    pub enum FrameDrop {
        /// The port that it was to leave by had no space for it.
        OutputFull = "output_full",
        /// The port that it was to leave by was down, or there is none.
        PortDown = "port_down",
        /// It is longer than the MTU of the port that it was to leave by.
        ExceedsMtu = "exceeds_mtu",
        /// The port that it was to leave by refused it: the operating system did, or it is shorter
        /// than its link header.
        OutputRefused = "output_refused",
        /// The worker that it was to go to had no space for it.
        HandoverFull = "handover_full",
        /// The thread that controls the pipeline had no space for it.
        ControlFull = "control_full",
        /// A stage failed with its batch, or held it when it failed, or its path's stages were
        /// not made again yet.
        StageFailed = "stage_failed",
    }
}
