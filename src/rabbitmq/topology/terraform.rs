//! The policies for Terraform, with the provider `cyrilgdn/rabbitmq`.

use serde_json::json;

use super::{PRIORITY, QueuePolicy, Topology, pattern};

impl Topology<'_> {
    /// A resource for each policy.
    pub fn terraform(&self) -> String {
        self.policies.iter().map(|policy| self.resource(policy)).collect::<Vec<_>>().join("\n")
    }

    fn resource(&self, policy: &QueuePolicy) -> String {
        let keys = policy.keys.iter().map(|(name, value)| format!("      {} = {}\n", quoted(name), literal(value)));
        format!(
            "resource \"rabbitmq_policy\" \"{label}\" {{\n  name  = {name}\n  vhost = {vhost}\n\n  policy {{\n    \
             pattern  = {pattern}\n    priority = {PRIORITY}\n    apply_to = {apply_to}\n\n    definition = {{\n{keys}    \
             }}\n  }}\n}}\n",
            label = label(&policy.name()),
            name = quoted(&policy.name()),
            vhost = quoted(&self.vhost),
            pattern = quoted(&pattern::exactly(&policy.queue)),
            apply_to = quoted(policy.apply_to),
            keys = keys.collect::<String>(),
        )
    }
}

fn literal(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), quoted)
}

/// A string of HCL: as in JSON, and neither `${` nor `%{` begins anything.
fn quoted(text: &str) -> String {
    json!(text).to_string().replace("${", "$${").replace("%{", "%%{")
}

/// What a resource may be called.
fn label(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Topology;
    use crate::config::{BrokerConfig, values::Secret};

    #[test]
    fn any_name_of_a_queue_is_a_string() {
        let config = BrokerConfig { url: Secret::new("amqp://h"), ..BrokerConfig::default() };
        let queues = ["a.\"b\"${c}".to_owned()];
        let expected = r#"resource "rabbitmq_policy" "dlo-a__b____c_" {
  name  = "dlo-a.\"b\"$${c}"
  vhost = "/"

  policy {
    pattern  = "^a\\.\"b\"\\$\\{c\\}\\z"
    priority = 10
    apply_to = "queues"

    definition = {
      "dead-letter-exchange" = "dlx"
    }
  }
}
"#;
        assert_eq!(Topology::dead_lettering(&config, &queues).unwrap().terraform(), expected);
    }
}
