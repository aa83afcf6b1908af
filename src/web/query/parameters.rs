//! One definition of what an address may say: it reads the words, writes them into links, names them where another one
//! was given, and describes them in the API.

use utoipa::openapi::Schema;

use super::Pairs;
use crate::web::error::{Gathered, WebError};

/// What an address may say. Made by [`parameters!`](super::parameters).
pub trait Parameters: Sized {
    /// Its words, to name them where another one was given.
    fn names() -> Vec<&'static str>;

    /// Takes its words; others stay.
    fn take(pairs: &mut Pairs) -> Result<Self, WebError>;

    /// The words that say it, by name, without what says the default.
    fn pairs(&self) -> Vec<(&'static str, String)>;

    /// Reads an address that says nothing else.
    fn read(mut pairs: Pairs) -> Result<Self, WebError>
    where
        Self: Default,
    {
        let mut gathered = Gathered::default();
        let read = gathered.take(Self::take(&mut pairs));
        gathered.take(pairs.finish(&Self::names().join(", ")));
        gathered.end().map(|()| read)
    }
}

/// None.
impl Parameters for () {
    fn names() -> Vec<&'static str> {
        Vec::new()
    }

    fn take(_: &mut Pairs) -> Result<Self, WebError> {
        Ok(())
    }

    fn pairs(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// The words of both.
impl<A: Parameters + Default, B: Parameters + Default> Parameters for (A, B) {
    fn names() -> Vec<&'static str> {
        [A::names(), B::names()].concat()
    }

    fn take(pairs: &mut Pairs) -> Result<Self, WebError> {
        let mut gathered = Gathered::default();
        let both = (gathered.take(A::take(pairs)), gathered.take(B::take(pairs)));
        gathered.end().map(|()| both)
    }

    fn pairs(&self) -> Vec<(&'static str, String)> {
        [self.0.pairs(), self.1.pairs()].concat()
    }
}

/// How a value stands in an address.
pub trait Form<T> {
    fn take(pairs: &mut Pairs, name: &str) -> Result<T, WebError>;

    /// Nothing, or what is empty, for what says the default.
    fn write(value: &T) -> Vec<String>;

    /// What it may be.
    fn schema() -> Schema;
}

/// A struct of [`Parameters`]: of each its description in the API, its name, its field, and how it stands in an address.
macro_rules! parameters {
    ($(#[$doc:meta])* $vis:vis $name:ident {
        $($(#[doc = $about:literal])* $word:literal $field:ident: $type:ty as $form:ty),+ $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        $vis struct $name {
            $($(#[doc = $about])* pub $field: $type),+
        }

        impl utoipa::IntoParams for $name {
            fn into_params(
                _: impl Fn() -> Option<utoipa::openapi::path::ParameterIn>,
            ) -> Vec<utoipa::openapi::path::Parameter> {
                use $crate::web::query::{Form, described::parameter};
                vec![$(parameter($word, concat!($($about, "\n"),*), <$form as Form<$type>>::schema())),+]
            }
        }

        impl $crate::web::query::Parameters for $name {
            fn names() -> Vec<&'static str> {
                vec![$($word),+]
            }

            fn take(pairs: &mut $crate::web::query::Pairs) -> Result<Self, $crate::web::error::WebError> {
                use $crate::web::{error::Gathered, query::Form};
                let mut gathered = Gathered::default();
                let read = Self { $($field: gathered.take(<$form as Form<$type>>::take(pairs, $word))),+ };
                gathered.end().map(|()| read)
            }

            fn pairs(&self) -> Vec<(&'static str, String)> {
                let mut pairs = Vec::new();
                $(
                    let values = <$form as $crate::web::query::Form<$type>>::write(&self.$field);
                    pairs.extend(values.into_iter().filter(|value| !value.is_empty()).map(|value| ($word, value)));
                )+
                pairs
            }
        }
    };
}
pub(crate) use parameters;
