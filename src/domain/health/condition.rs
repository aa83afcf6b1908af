//! What can be wrong with a server, and in which words that is said.

use amqp_message::{time::Timestamp, word_enum};

word_enum! {
    /// How much of its work a server can do.
    Status, "status of a server" {
        /// All of it.
        Ready = "ready",
        /// It takes messages in and sends them back, but something needs attention.
        Degraded = "degraded",
        /// It cannot take messages in, or not send them back.
        Unready = "unready",
    }
}

word_enum! {
    /// What is wrong, the worst first.
    ConditionKind, "condition" {
        DatabaseUnreachable = "database_unreachable",
        DatabaseReadOnly = "database_read_only",
        DatabaseFull = "database_full",
        /// It answers, and refuses to be read or written: a table is missing, a trigger objects.
        DatabaseRefuses = "database_refuses",
        IntakeHeld = "intake_held",
        BrokerUnreachable = "broker_unreachable",
        /// It answers, and refuses what dlo needs: a permission is missing, a queue is gone or of another kind.
        BrokerRefuses = "broker_refuses",
        BrokerBlocked = "broker_blocked",
        SchedulerLate = "scheduler_late",
        NotEnriched = "not_enriched",
        NotificationsFailing = "notifications_failing",
        DatabaseSlow = "database_slow",
        WorkerFailing = "worker_failing",
    }
}

/// Why the database cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseTrouble {
    Unreachable,
    ReadOnly,
    Full,
    Refuses,
}

impl From<DatabaseTrouble> for ConditionKind {
    fn from(trouble: DatabaseTrouble) -> Self {
        match trouble {
            DatabaseTrouble::Unreachable => Self::DatabaseUnreachable,
            DatabaseTrouble::ReadOnly => Self::DatabaseReadOnly,
            DatabaseTrouble::Full => Self::DatabaseFull,
            DatabaseTrouble::Refuses => Self::DatabaseRefuses,
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    pub kind: ConditionKind,
    /// The broker, channel or worker it is about; empty where there is only one.
    pub subject: String,
    pub since: Timestamp,
    /// The error, or the figures.
    pub why: String,
}

impl Status {
    /// Of a server on which these hold.
    pub fn of(conditions: &[Condition]) -> Self {
        conditions.iter().map(|condition| condition.kind.status()).max().unwrap_or(Self::Ready)
    }
}

impl ConditionKind {
    /// What a server is while this holds.
    pub const fn status(self) -> Status {
        match self {
            Self::DatabaseUnreachable
            | Self::DatabaseReadOnly
            | Self::DatabaseFull
            | Self::DatabaseRefuses
            | Self::IntakeHeld
            | Self::BrokerUnreachable
            | Self::BrokerRefuses
            | Self::BrokerBlocked => Status::Unready,
            Self::SchedulerLate
            | Self::NotEnriched
            | Self::NotificationsFailing
            | Self::DatabaseSlow
            | Self::WorkerFailing => Status::Degraded,
        }
    }

    /// A short sentence without its full stop.
    pub fn title(self, subject: &str) -> String {
        match self {
            Self::DatabaseUnreachable => "The database does not answer".to_owned(),
            Self::DatabaseReadOnly => "The database is read-only".to_owned(),
            Self::DatabaseFull => "The database is full".to_owned(),
            Self::DatabaseRefuses => "The database refuses to be read or written".to_owned(),
            Self::IntakeHeld => format!("Messages from broker {subject} are held and not stored"),
            Self::BrokerUnreachable => format!("No connection to broker {subject}"),
            Self::BrokerRefuses => format!("Broker {subject} refuses what dlo needs"),
            Self::BrokerBlocked => format!("Broker {subject} is blocked by an alarm"),
            Self::SchedulerLate => format!("Retries to broker {subject} are late"),
            Self::NotEnriched => "Dead letters wait for their type, importance and group".to_owned(),
            Self::NotificationsFailing if subject.is_empty() => "Notifications are not sent".to_owned(),
            Self::NotificationsFailing => format!("Notifications to {subject} fail"),
            Self::DatabaseSlow => "The database is slow".to_owned(),
            Self::WorkerFailing => format!("Background work fails: {subject}"),
        }
    }

    /// What a person can do, and what becomes of messages until then.
    pub fn what_to_do(self, subject: &str) -> String {
        match self {
            Self::DatabaseUnreachable => "Check that the database runs and that this server reaches it. Nothing is \
                lost: messages wait in RabbitMQ, and work resumes by itself."
                .to_owned(),
            Self::DatabaseReadOnly => "Make it writable: the primary and no default_transaction_read_only on \
                Postgres, the rights on file and folder on SQLite. Messages wait in RabbitMQ until then."
                .to_owned(),
            Self::DatabaseFull => {
                "Free disk space where the database is. Messages wait in RabbitMQ until then; nothing is lost."
                    .to_owned()
            }
            Self::DatabaseRefuses => "Look for a schema that somebody changed, a trigger or missing rights. Messages \
                wait in RabbitMQ until then; nothing is lost."
                .to_owned(),
            Self::IntakeHeld => {
                "RabbitMQ keeps them until the database can be written; nothing is lost. Check the database.".to_owned()
            }
            Self::BrokerUnreachable => format!(
                "dlo keeps trying. Check that RabbitMQ runs and that brokers.{subject}.url has the right address, user \
                and vhost."
            ),
            Self::BrokerRefuses => {
                "dlo keeps trying. The reason says what is missing: a permission of its user in the \
                vhost, or a queue or exchange that was deleted or is of another kind. Messages wait until then."
                    .to_owned()
            }
            Self::BrokerBlocked => "RabbitMQ is short of memory or disk and takes nothing in. Free some there; work \
                resumes by itself."
                .to_owned(),
            Self::SchedulerLate => "Check that a server with the role retry runs. If one does, more retries are due \
                than RabbitMQ confirms: cancel the job that sends too many, or wait."
                .to_owned(),
            Self::NotEnriched => "Check that a server with the role intake runs. In a storm the newest are enriched \
                first and the others follow; otherwise the log says what fails."
                .to_owned(),
            Self::NotificationsFailing if subject.is_empty() => {
                "Check that a server with the role notify runs. What waits is delivered afterwards.".to_owned()
            }
            Self::NotificationsFailing => {
                "dlo check tries the channel. What waits is delivered afterwards; what was refused for good is not."
                    .to_owned()
            }
            Self::DatabaseSlow => {
                "Look at the load, the disk and the locks of the database, and at who else uses it.".to_owned()
            }
            Self::WorkerFailing => "It is tried again and again. The log has the errors.".to_owned(),
        }
    }
}

impl Condition {
    pub fn title(&self) -> String {
        self.kind.title(&self.subject)
    }

    pub fn what_to_do(&self) -> String {
        self.kind.what_to_do(&self.subject)
    }
}
