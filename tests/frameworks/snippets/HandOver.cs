// A service that hands its failures over to dlo, with RabbitMQ.Client 7. Not run by a test. The docs show what is
// between the marks.
using RabbitMQ.Client;
using RabbitMQ.Client.Events;

public static class Failures
{
    // docs: begin
    /// <summary>Publishes the message to dlo with its error and with all that it came with, then acknowledges it.</summary>
    public static async Task HandOver(IChannel channel, BasicDeliverEventArgs message, string queue, Exception error)
    {
        var trace = error.ToString();
        var properties = new BasicProperties(message.BasicProperties)
        {
            Headers = new Dictionary<string, object?>(message.BasicProperties.Headers ?? new Dictionary<string, object?>())
            {
                ["x-exception-message"] = error.Message,
                ["x-exception-stacktrace"] = trace[..Math.Min(trace.Length, 30_000)],
                ["x-original-exchange"] = "",
                ["x-original-routingKey"] = queue,
            },
            DeliveryMode = DeliveryModes.Persistent,
        };
        properties.ClearExpiration();
        properties.ClearUserId();
        // Throws where RabbitMQ does not confirm it: the channel was created with
        // new CreateChannelOptions(publisherConfirmationsEnabled: true, publisherConfirmationTrackingEnabled: true).
        await channel.BasicPublishAsync("dlx", queue, mandatory: false, properties, message.Body);
        await channel.BasicAckAsync(message.DeliveryTag, multiple: false);
    }
    // docs: end
}
