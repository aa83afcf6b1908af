//! Header tables, properties and deaths as JSON, without loss.
//!
//! A header value is a plain JSON string, boolean or null where that says it all (long string, boolean, void).
//! Anything else is `{"t": type, "v": value}`, so that it keeps the very type it had on the wire:
//!
//! | `t` | AMQP 0-9-1 | `v` |
//! | --- | --- | --- |
//! | `byte`, `ubyte`, `short`, `ushort`, `long`, `ulong`, `longlong` | 8 to 64 bits, signed or not | number |
//! | `float`, `double` | 32 and 64 bits | number; hexadecimal bits as a string where it is not finite |
//! | `decimal` | scale and value | `{"scale": 2, "value": 1250}` is 12.50 |
//! | `timestamp` | seconds | number |
//! | `bytes` | byte array | base64 |
//! | `longstr` | a string that is not UTF-8 | none, but `"base64"` |
//! | `array` | array | JSON array of values |
//! | `table` | table | as below |
//! | `flat` | an array or table nested very deeply | its parts in a row, see `flat` |
//!
//! A table is an object if its names are unique and in order, as the client library hands them in. Otherwise it is an
//! array of `[name, value]`, because objects of JSON have neither duplicates nor an order to rely on.
//!
//! [`value_from_plain_json`] makes values of JSON that names no types.
//!
//! Reading reports what is wrong and never overflows the stack: serde_json itself ends at 128 levels.

mod deaths;
mod flat;
mod plain;
mod properties;
mod read;
mod write;

pub use deaths::{deaths_from_json, deaths_to_json};
pub use plain::{table_from_plain_json, value_from_plain_json};
pub use properties::{properties_from_json, properties_to_json, properties_to_string};
pub use read::{table_from_json, value_from_json};
pub use write::{table_to_json, table_to_string};

#[cfg(test)]
mod tests;
