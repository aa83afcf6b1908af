// HandOver URL QUEUE: a service that hands its failures over to dlo. The docs show what is between the marks.
import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.DefaultConsumer;
import com.rabbitmq.client.Envelope;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.HashMap;
import java.util.Map;

public class HandOver {
    // docs: begin
    /** Publishes the message to dlo with its error and with all that it came with, then acknowledges it. */
    static void handOver(Channel channel, long deliveryTag, BasicProperties properties, byte[] body, String queue,
            Throwable error) throws Exception {
        StringWriter written = new StringWriter();
        error.printStackTrace(new PrintWriter(written));
        String trace = written.toString();
        Map<String, Object> headers = new HashMap<>();
        if (properties.getHeaders() != null) {
            headers.putAll(properties.getHeaders());
        }
        headers.put("x-exception-message", String.valueOf(error.getMessage()));
        headers.put("x-exception-stacktrace", trace.substring(0, Math.min(trace.length(), 30_000)));
        headers.put("x-original-exchange", "");
        headers.put("x-original-routingKey", queue);
        BasicProperties copy =
            properties.builder().headers(headers).deliveryMode(2).expiration(null).userId(null).build();
        channel.basicPublish("dlx", queue, copy, body);
        // Throws where RabbitMQ does not confirm it: channel.confirmSelect() was called.
        channel.waitForConfirmsOrDie(10_000);
        channel.basicAck(deliveryTag, false);
    }
    // docs: end

    static void work(BasicProperties properties, String body) {
        System.out.println("{\"call\": \"" + body + "\"}");
        Map<String, Object> headers = properties.getHeaders();
        Object attempts = headers == null ? null : headers.get("dlo-attempts");
        if (body.equals("never") || attempts == null || !attempts.toString().equals("2")) {
            throw new IllegalStateException("no stock for " + body);
        }
    }

    public static void main(String[] arguments) throws Exception {
        ConnectionFactory factory = new ConnectionFactory();
        factory.setUri(arguments[0]);
        String queue = arguments[1];
        Channel channel = factory.newConnection().createChannel();
        channel.confirmSelect();
        channel.queueDeclare(queue, true, false, false, null);
        channel.basicConsume(queue, false, new DefaultConsumer(channel) {
            @Override
            public void handleDelivery(String tag, Envelope envelope, BasicProperties properties, byte[] body)
                    throws IOException {
                try {
                    work(properties, new String(body));
                    channel.basicAck(envelope.getDeliveryTag(), false);
                } catch (IllegalStateException error) {
                    try {
                        handOver(channel, envelope.getDeliveryTag(), properties, body, queue, error);
                    } catch (Exception failed) {
                        throw new IOException(failed);
                    }
                }
            }
        });
        System.out.println("{\"ready\": true}");
    }
}
