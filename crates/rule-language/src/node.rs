//! A rule that was checked: what is left to do when a message comes.

use super::{mistake::Place, pattern::Pattern};

/// A rule that was read and checked.
#[derive(Debug)]
pub(super) struct Plan {
    pub root: Node,
    /// Whether what it comes to can depend on the payload.
    pub asks_for_payload: bool,
}

/// What kind of value something is, as far as the text of the rule tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Only the message will tell.
    Any,
    Null,
    Bool,
    Number,
    Text,
    Timestamp,
    Duration,
    List,
    Map,
}

impl Kind {
    /// As in "this is {}".
    pub(super) const fn describe(self) -> &'static str {
        match self {
            Self::Any => "a value",
            Self::Null => "null",
            Self::Bool => "yes or no",
            Self::Number => "a number",
            Self::Text => "a text",
            Self::Timestamp => "a point in time",
            Self::Duration => "a duration",
            Self::List => "a list",
            Self::Map => "a map",
        }
    }

    /// Whether a value of this kind can be one of the other.
    pub(super) fn may_be(self, other: Self) -> bool {
        self == other || self == Self::Any || other == Self::Any
    }
}

/// A step of a rule. Where it can fail it knows where it stands.
#[derive(Debug)]
pub(super) enum Node {
    Literal(Literal),
    Letter(LetterField),
    Payload,
    /// The variable of the `n`th comprehension around it, the outermost first.
    Variable(usize),
    Member(Box<Node>, Box<str>),
    Item(Box<[Node; 2]>, Place),
    Has(Box<Node>),
    List(Box<[Node]>),
    Map(Box<[(Node, Node)]>, Place),
    Not(Box<Node>, Place),
    Negate(Box<Node>, Place),
    Logic(Logic, Box<[Node; 2]>, Place),
    /// `a ? b : c`
    Choice(Box<[Node; 3]>, Place),
    Equal(Box<[Node; 2]>, Place),
    Order(Order, Box<[Node; 2]>, Place),
    In(Box<[Node; 2]>, Place),
    Arithmetic(Arithmetic, Box<[Node; 2]>, Place),
    Call(Function, Box<[Node]>, Place),
    Matches(Box<Node>, Box<Pattern>, Place),
    Each(Box<Each>, Place),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    Null,
    Bool(bool),
    Int(i128),
    Double(f64),
    Text(Box<str>),
    /// Microseconds since the Unix epoch.
    Timestamp(i64),
    /// Microseconds.
    Duration(i64),
}

impl Literal {
    pub(super) const fn kind(&self) -> Kind {
        match self {
            Self::Null => Kind::Null,
            Self::Bool(_) => Kind::Bool,
            Self::Int(_) | Self::Double(_) => Kind::Number,
            Self::Text(_) => Kind::Text,
            Self::Timestamp(_) => Kind::Timestamp,
            Self::Duration(_) => Kind::Duration,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LetterField {
    Queue,
    Exchange,
    RoutingKey,
    Broker,
    Reason,
    Attempts,
    Type,
    Headers,
    Error,
    ErrorType,
    ErrorMessage,
    Size,
    FirstFailedAt,
    LastFailedAt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Logic {
    And,
    Or,
}

impl Logic {
    pub(super) const fn sign(self) -> &'static str {
        match self {
            Self::And => "&&",
            Self::Or => "||",
        }
    }

    /// The side that decides alone.
    pub(super) const fn deciding(self) -> bool {
        matches!(self, Self::Or)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Order {
    pub(super) const fn sign(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Arithmetic {
    pub(super) const fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Size,
    StartsWith,
    EndsWith,
    Contains,
    LowerAscii,
    UpperAscii,
    Int,
    Uint,
    Double,
    String,
    Bool,
    Timestamp,
    Duration,
    GetDayOfWeek,
    GetHours,
    GetMinutes,
}

/// A comprehension: `over.all(x, body)` and its like.
#[derive(Debug)]
pub(super) struct Each {
    pub what: What,
    pub over: Node,
    /// Of `over.map(x, condition, body)`.
    pub condition: Option<Node>,
    pub body: Node,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
}

impl What {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Exists => "exists",
            Self::ExistsOne => "exists_one",
            Self::Filter => "filter",
            Self::Map => "map",
        }
    }
}
