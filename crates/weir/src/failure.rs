//! Errors of the gateway as failures of a command, and the other way round.

use weir_console::Failure;
use weir_gateway::Error;

/// The failure that an error is to a command.
pub fn failure(error: Error) -> Failure {
    match error {
        Error::Configuration(_) => Failure::usage(error),
        Error::Running(_) => Failure::running(error),
    }
}

/// The error that a failure is to the gateway, which called an output of the command.
pub fn error(failure: Failure) -> Error {
    match failure {
        Failure::Usage(cause) | Failure::Running(cause) => Error::running(cause),
    }
}
