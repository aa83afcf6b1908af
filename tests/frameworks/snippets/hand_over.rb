# hand_over.rb URL QUEUE: a service that hands its failures over to dlo. The docs show what is between the marks.
require "bunny"

# docs: begin
# Publishes the message to dlo with its error and with all that it came with, then acknowledges it.
def hand_over(channel, delivery, properties, body, queue, error)
  headers = (properties.headers || {}).merge(
    "x-exception-message" => error.message,
    "x-exception-stacktrace" => error.full_message(highlight: false, order: :top)
      .then { |trace| "#{error.class}: #{error.message}\n#{trace}" }[0, 30_000],
    "x-original-exchange" => "",
    "x-original-routingKey" => queue
  )
  kept = properties.to_hash.reject { |name, _| %i[expiration user_id].include?(name) }
  channel.basic_publish(body, "dlx", queue, kept.merge(headers: headers, delivery_mode: 2))
  # channel.confirm_select was called.
  raise "RabbitMQ did not take the message" unless channel.wait_for_confirms

  channel.ack(delivery.delivery_tag)
end
# docs: end

def work(properties, body)
  puts %({"call": "#{body}"})
  attempts = (properties.headers || {})["dlo-attempts"]
  raise ArgumentError, "no stock for #{body}" if body == "never" || attempts != "2"
end

$stdout.sync = true
url, queue = ARGV
channel = Bunny.new(url).start.create_channel
channel.confirm_select
channel.queue(queue, durable: true).subscribe(manual_ack: true) do |delivery, properties, body|
  work(properties, body)
  channel.ack(delivery.delivery_tag)
rescue ArgumentError => e
  hand_over(channel, delivery, properties, body, queue, e)
end
puts '{"ready": true}'
sleep
