//! What bounds a rule and its evaluation.

/// Characters of a rule.
pub const MAX_CHARACTERS: usize = 4_000;
/// Words, numbers, texts and signs of a rule.
pub const MAX_TOKENS: usize = 1_000;
/// Brackets of any kind within each other.
pub const MAX_BRACKETS: usize = 16;
/// Steps of a rule that build on each other.
pub const MAX_DEPTH: usize = 64;
/// Bytes that a pattern may take once it is compiled.
pub const MAX_PATTERN: usize = 256 << 10;
/// Steps for one rule and message. A step takes some forty nanoseconds, so this is about two milliseconds.
pub const MAX_STEPS: usize = 50_000;
/// Steps for all rules and one message.
pub const MAX_STEPS_PER_MESSAGE: usize = 500_000;
/// Steps that a rule has in any case.
pub const MIN_STEPS: usize = 500;
/// Bytes of a text that a rule makes.
pub const MAX_TEXT: usize = 64 << 10;
/// Bytes of a payload's JSON that rules can read.
pub const MAX_PAYLOAD: usize = 1 << 20;
/// Values of a payload that rules can read.
pub const MAX_PAYLOAD_VALUES: usize = 50_000;
