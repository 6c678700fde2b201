// Names that switch the checks off, an error from here on. The rewriter refuses them where the
// text has them whole; the compiler also refuses those that a macro pastes together.
#pragma GCC poison no_sanitize no_sanitize_thread no_sanitize_address no_sanitize_undefined
#pragma GCC poison __no_sanitize__ __no_sanitize_thread__ __no_sanitize_address__
#pragma GCC poison __no_sanitize_undefined__ disable_sanitizer_instrumentation
