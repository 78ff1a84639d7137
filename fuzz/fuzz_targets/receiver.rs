#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weir_fuzz_checks::receiver::check(input));
