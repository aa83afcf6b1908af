//! The topology for people: what to mind, the definitions, and the same as commands.

use serde_json::json;

use super::{PRIORITY, QueuePolicy, Topology, pattern, queue_arguments, shell};

const NATIVE: &str = "\
#
# RabbitMQ delays the retries by itself. It takes 4.3 or later, an older one refuses these policies, and quorum queues.
# - A message waits and counts when its consumer rejects it with requeue (basic.reject) or loses channel or connection.
#   After basic.nack with requeue it waits for the first delay each time and never counts: there is no end to that.
#   Of delivery-limit and an x-delivery-limit of the queue's own the lower one counts.
# - What is rejected without requeue is not retried; it comes here at once, as does what expires.
# - What comes here goes to the obituary queue: from then on it needs attention, and dlo does not retry it again.
#   By way of an x-dead-letter-exchange of the queue's own it comes to the other queue, and dlo would. To forbid that:
#   [retry.queues.\"QUEUE\".reasons.delivery_limit] delays = []
# - A message that waits stays in its queue. dlo does not show it, and can neither hurry nor stop it.
# - Delays do not vary at random. They are those of the configuration; what was set in the pages is not looked at.
";

const DEFINITIONS: &str = "
# As definitions, which --json prints alone: for rabbitmqctl import_definitions FILE, or for the management API,
# POST /api/definitions/VHOST.
";

const DECLARED_BY_DLO: &str = "
# The same as commands. What dlo declares by itself, unless declare = false, with rabbitmqadmin 2:
";

const OLDER: &str = "# or with the older rabbitmqadmin, a script in Python:
";

const POLICIES: &str = "
# And what it never sets by itself:
";

const LOCALE: &str = "\
# (In a UTF-8 locale only. In another one rabbitmqctl sets patterns that match nothing; definitions are safe.)
";

/// The two programs of that name.
enum Rabbitmqadmin {
    /// From RabbitMQ 4.3 on, and to be had for older ones.
    Two,
    /// The script in Python.
    One,
}

impl Topology<'_> {
    /// Definitions and commands, and all that is to be minded. `broker` is its name in the configuration.
    pub fn text(&self, broker: &str) -> String {
        let mut text = self.heading(broker);
        if self.native {
            text += NATIVE;
        }
        for note in self.notes() {
            text += &format!("# - {note}\n");
        }
        text += DEFINITIONS;
        text += &format!("{:#}\n", self.definitions());
        text += DECLARED_BY_DLO;
        text += &self.declarations(&Rabbitmqadmin::Two);
        if !self.native {
            text += OLDER;
            text += &self.declarations(&Rabbitmqadmin::One);
        }
        text += POLICIES;
        if !self.policies.iter().all(|policy| policy.queue.is_ascii()) || !self.vhost.is_ascii() {
            text += LOCALE;
        }
        text += &self.policy_commands();
        text
    }

    /// The commands that set the policies, one a line.
    pub fn policy_commands(&self) -> String {
        self.policies.iter().map(|policy| self.set_policy(policy)).collect()
    }

    /// The commands that take them back.
    pub fn clear_commands(&self) -> String {
        let clear = |policy: &QueuePolicy| {
            shell::line(&["rabbitmqctl", "clear_policy", &format!("--vhost={}", self.vhost), &policy.name()]) + "\n"
        };
        self.policies.iter().map(clear).collect()
    }

    /// The command that lets a user do all that dlo does in the virtual host.
    pub fn permissions_command(&self, user: &str) -> String {
        let config = self.config;
        let names = [&config.dead_letter_exchange, &config.dead_letter_queue, &config.obituary_queue];
        let mut others: Vec<String> =
            names.into_iter().filter(|name| !name.starts_with("dlo.")).map(|name| pattern::exactly(name)).collect();
        others.push(r"^dlo\.".to_owned());
        let own = others.join("|");
        let (vhost, write) = (format!("--vhost={}", self.vhost), format!(r"{own}|^amq\.default$"));
        shell::line(&["rabbitmqctl", "set_permissions", &vhost, user, &own, &write, &own])
    }

    fn heading(&self, broker: &str) -> String {
        let Self { config, vhost, .. } = self;
        let look = |column| shell::line(&["rabbitmqctl", "list_queues", &format!("--vhost={vhost}"), "name", column]);
        let (policies, arguments) = (look("policy"), look("arguments"));
        format!(
            "\
# For the broker {broker} ({}).
#
# A queue obeys one policy at a time, the one with the highest priority, so these replace what a queue has.
# Where it has one ({policies}),
# add the keys of that one to the definition here, or those here to that one.
# A queue that was declared with an x-dead-letter-exchange of its own ({arguments})
# keeps to it, whatever a policy says. Bind {:?} to that exchange instead.
",
            config.address(),
            config.dead_letter_queue,
        )
    }

    fn declarations(&self, program: &Rabbitmqadmin) -> String {
        let config = self.config;
        let exchange = self.declare(
            program,
            "exchange",
            &[("name", &config.dead_letter_exchange), ("type", "fanout"), ("durable", "true")],
        );
        let arguments = queue_arguments(config.queue_type).to_string();
        let queues = [&config.dead_letter_queue, &config.obituary_queue].map(|queue| {
            let mut options = vec![("name", &**queue), ("durable", "true"), ("arguments", &*arguments)];
            if matches!(program, Rabbitmqadmin::Two) {
                options.insert(1, ("type", config.queue_type.as_str()));
            }
            self.declare(program, "queue", &options)
        });
        let destination_type = match program {
            Rabbitmqadmin::Two => "destination-type",
            Rabbitmqadmin::One => "destination_type",
        };
        let mut options = vec![
            ("source", &*config.dead_letter_exchange),
            (destination_type, "queue"),
            ("destination", &config.dead_letter_queue),
        ];
        if matches!(program, Rabbitmqadmin::Two) {
            options.push(("routing-key", ""));
        }
        exchange + &queues.concat() + &self.declare(program, "binding", &options)
    }

    fn declare(&self, program: &Rabbitmqadmin, what: &str, options: &[(&str, &str)]) -> String {
        let vhost = format!("--vhost={}", self.vhost);
        let (start, dashes) = match program {
            Rabbitmqadmin::Two => (["rabbitmqadmin", "declare", what, &vhost], "--"),
            Rabbitmqadmin::One => (["rabbitmqadmin", &vhost, "declare", what], ""),
        };
        let options = options.iter().map(|(name, value)| format!("{dashes}{name}={value}"));
        shell::line(&start.into_iter().map(str::to_owned).chain(options).collect::<Vec<_>>()) + "\n"
    }

    fn set_policy(&self, policy: &QueuePolicy) -> String {
        let command = [
            "rabbitmqctl",
            "set_policy",
            &format!("--vhost={}", self.vhost),
            &format!("--apply-to={}", policy.apply_to),
            &format!("--priority={PRIORITY}"),
            &policy.name(),
            &pattern::exactly(&policy.queue),
            &json!(policy.keys).to_string(),
        ];
        shell::line(&command) + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::super::Topology;
    use crate::config::{BrokerConfig, values::Secret};

    fn text(queue: &str) -> String {
        let config = BrokerConfig { url: Secret::new("amqp://u:hunter2@rabbit:5671/a%2fb"), ..BrokerConfig::default() };
        Topology::dead_lettering(&config, &[queue.to_owned()]).unwrap().text("main")
    }

    #[test]
    fn a_policy_is_set_by_one_command() {
        let expected = r#"rabbitmqctl set_policy --vhost=a/b --apply-to=queues --priority=10 'dlo-it'\''s.a queue' '^it'\''s\.a queue\z' '{"dead-letter-exchange":"dlx"}'"#;
        assert_eq!(text("it's.a queue").lines().last(), Some(expected));
    }

    #[test]
    fn rights_are_those_of_the_names_in_the_configuration() {
        let config = BrokerConfig { url: Secret::new("amqp://h"), ..BrokerConfig::default() };
        let topology = Topology::dead_lettering(&config, &["orders".to_owned()]).unwrap();
        let expected = r"rabbitmqctl set_permissions --vhost=/ USER '^dlx\z|^dlo\.' '^dlx\z|^dlo\.|^amq\.default$' '^dlx\z|^dlo\.'";
        assert_eq!(topology.permissions_command("USER"), expected);
        assert_eq!(topology.clear_commands(), "rabbitmqctl clear_policy --vhost=/ dlo-orders\n");
    }

    #[test]
    fn both_programs_of_one_name_declare_the_same() {
        let text = text("orders");
        for line in [
            "rabbitmqadmin declare exchange --vhost=a/b --name=dlx --type=fanout --durable=true",
            "rabbitmqadmin --vhost=a/b declare exchange name=dlx type=fanout durable=true",
            "rabbitmqadmin declare binding --vhost=a/b --source=dlx --destination-type=queue \
             --destination=dlo.dead-letters --routing-key=",
            "rabbitmqadmin --vhost=a/b declare binding source=dlx destination_type=queue destination=dlo.dead-letters",
            r#"rabbitmqadmin --vhost=a/b declare queue name=dlo.obituaries durable=true 'arguments={"x-queue-type":"quorum","x-delivery-limit":1000000000}'"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }

    #[test]
    fn the_broker_is_told_without_its_password() {
        let text = text("orders");
        assert!(text.starts_with("# For the broker main (rabbit:5671, vhost a/b).\n"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}
