// Poisons names that switch off the checks. The rewriter refuses them in the text; the compiler
// also refuses those that a macro pastes together.
#pragma GCC poison no_sanitize no_sanitize_thread no_sanitize_address no_sanitize_undefined
#pragma GCC poison __no_sanitize__ __no_sanitize_thread__ __no_sanitize_address__
#pragma GCC poison __no_sanitize_undefined__ disable_sanitizer_instrumentation
