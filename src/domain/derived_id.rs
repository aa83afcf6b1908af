//! Ids of what is known by its content: the same content has the same id, on every server and after a restart.

/// Defines such an id.
macro_rules! derived_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(uuid::Uuid);

        impl $name {
            /// That of what is known by `content`.
            fn of(content: &impl std::fmt::Debug) -> Self {
                let hash = xxhash_rust::xxh3::xxh3_128(format!("{content:?}").as_bytes());
                Self(uuid::Builder::from_custom_bytes(hash.to_be_bytes()).into_uuid())
            }

            pub const fn as_uuid(self) -> uuid::Uuid {
                self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, uuid::Error> {
                text.parse().map(Self)
            }
        }
    };
}
pub(super) use derived_id;
