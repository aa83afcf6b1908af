//! One definition of what an address may say: it reads the words, writes them into links, names them where another one
//! was given, and describes them in the API.

use super::Pairs;
use crate::web::error::WebError;

/// What an address may say. Made by [`parameters!`](super::parameters).
pub trait Parameters: Sized {
    /// Its words, to name them where another one was given.
    fn names() -> Vec<&'static str>;

    /// Takes its words; others stay.
    fn take(pairs: &mut Pairs) -> Result<Self, WebError>;

    /// The words that say it, by name, without what says the default.
    fn pairs(&self) -> Vec<(&'static str, String)>;

    /// Reads an address that says nothing else.
    fn read(mut pairs: Pairs) -> Result<Self, WebError> {
        let read = Self::take(&mut pairs)?;
        pairs.finish(&Self::names().join(", ")).map(|()| read)
    }
}

/// The words of both.
impl<A: Parameters, B: Parameters> Parameters for (A, B) {
    fn names() -> Vec<&'static str> {
        [A::names(), B::names()].concat()
    }

    fn take(pairs: &mut Pairs) -> Result<Self, WebError> {
        Ok((A::take(pairs)?, B::take(pairs)?))
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
}

/// A struct of [`Parameters`]: of each its description in the API, its name, its field, how it stands in an address, and
/// of which type it is to whoever reads the description.
macro_rules! parameters {
    ($(#[$doc:meta])* $vis:vis $name:ident {
        $($(#[$field_doc:meta])* $word:literal $field:ident: $type:ty as $form:ty => $shown:ty),+ $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, utoipa::IntoParams)]
        #[into_params(parameter_in = Query)]
        $vis struct $name {
            $($(#[$field_doc])* #[param(rename = $word, value_type = $shown)] pub $field: $type),+
        }

        impl $crate::web::query::Parameters for $name {
            fn names() -> Vec<&'static str> {
                vec![$($word),+]
            }

            fn take(pairs: &mut $crate::web::query::Pairs) -> Result<Self, $crate::web::error::WebError> {
                Ok(Self { $($field: <$form as $crate::web::query::Form<$type>>::take(pairs, $word)?),+ })
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
