//! How frameworks hand over what they give up: as a copy with headers of their own.

use lapin::{BasicProperties, types::AMQPValue};

use crate::clock::Clock;

/// An error of the demo's billing.
#[derive(Clone, Copy)]
pub(super) struct Error {
    class: &'static str,
    message: &'static str,
}

pub(super) const NO_RATE: Error =
    Error { class: "NoRateException", message: "no exchange rate: the order has no currency" };
pub(super) const TIME_OUT: Error =
    Error { class: "TimeoutException", message: "the exchange rates did not answer within 2 s" };

/// The properties of the copy that the framework of the `n`th failure publishes; `None` where it only rejects.
pub(super) fn of_failure(n: u64, error: Error, queue: &str, original: &BasicProperties) -> Option<BasicProperties> {
    let added = match n % 4 {
        0 => spring(error, queue),
        1 => masstransit(error, queue),
        2 => wolverine(error, queue),
        _ => return None,
    };
    let mut headers = original.headers().clone().unwrap_or_default();
    for (name, value) in added {
        headers.insert(name.into(), AMQPValue::LongString(value.into()));
    }
    Some(original.clone().with_headers(headers))
}

fn spring(Error { class, message }: Error, queue: &str) -> Vec<(&'static str, String)> {
    let trace = format!(
        "org.springframework.amqp.rabbit.support.ListenerExecutionFailedException: Listener threw exception\n\
         \tat org.springframework.amqp.rabbit.listener.adapter.MessagingMessageListenerAdapter.invokeHandler\
         (MessagingMessageListenerAdapter.java:286)\n\
         Caused by: com.example.billing.{class}: {message}\n\
         \tat com.example.billing.InvoiceListener.on(InvoiceListener.java:31)\n\t... 12 more\n"
    );
    vec![
        ("x-exception-message", message.to_owned()),
        ("x-exception-stacktrace", trace),
        ("x-original-exchange", String::new()),
        ("x-original-routingKey", queue.to_owned()),
    ]
}

fn masstransit(Error { class, message }: Error, queue: &str) -> Vec<(&'static str, String)> {
    vec![
        ("MT-Reason", "fault".to_owned()),
        ("MT-Fault-InputAddress", format!("rabbitmq://localhost/{queue}")),
        ("MT-Fault-ExceptionType", format!("Example.Billing.{class}")),
        ("MT-Fault-Message", message.to_owned()),
        (
            "MT-Fault-StackTrace",
            "   at Example.Billing.InvoiceConsumer.Consume(ConsumeContext`1 context) in /src/InvoiceConsumer.cs:line 21\n   \
             at MassTransit.Middleware.ConsumerMessageFilter`2.Send(ConsumeContext`1 context, IPipe`1 next)"
                .to_owned(),
        ),
        ("MT-Host-MachineName", "billing-2".to_owned()),
    ]
}

fn wolverine(Error { class, message }: Error, queue: &str) -> Vec<(&'static str, String)> {
    vec![
        ("exception-type", format!("Example.Billing.{class}")),
        ("exception-message", message.to_owned()),
        (
            "exception-stack",
            "   at Example.Billing.InvoiceHandler.Handle(OrderPlaced order) in /src/InvoiceHandler.cs:line 9"
                .to_owned(),
        ),
        ("failed-at", (Clock::system().now().as_micros() / 1_000).to_string()),
        ("original-destination", format!("rabbitmq://queue/{queue}")),
    ]
}
