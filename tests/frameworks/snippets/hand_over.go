// hand_over URL QUEUE: a service that hands its failures over to dlo. The docs show what is between the marks.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"runtime/debug"

	amqp "github.com/rabbitmq/amqp091-go"
)

// docs: begin
// handOver publishes the message to dlo with its error and with all that it came with, then acknowledges it.
func handOver(channel *amqp.Channel, message amqp.Delivery, queue string, cause error) error {
	trace := fmt.Sprintf("%T: %v\n%s", cause, cause, debug.Stack())
	if len(trace) > 30000 {
		trace = trace[:30000]
	}
	headers := amqp.Table{}
	for name, value := range message.Headers {
		headers[name] = value
	}
	headers["x-exception-message"] = cause.Error()
	headers["x-exception-stacktrace"] = trace
	headers["x-original-exchange"] = ""
	headers["x-original-routingKey"] = queue
	// The channel has been put into confirm mode: channel.Confirm(false).
	confirm, err := channel.PublishWithDeferredConfirmWithContext(context.Background(), "dlx", queue, false, false, amqp.Publishing{
		Headers:         headers,
		ContentType:     message.ContentType,
		ContentEncoding: message.ContentEncoding,
		DeliveryMode:    amqp.Persistent,
		Priority:        message.Priority,
		CorrelationId:   message.CorrelationId,
		ReplyTo:         message.ReplyTo,
		MessageId:       message.MessageId,
		Timestamp:       message.Timestamp,
		Type:            message.Type,
		AppId:           message.AppId,
		Body:            message.Body,
	})
	if err != nil {
		return err
	}
	if !confirm.Wait() {
		return errors.New("RabbitMQ did not take the message")
	}
	return message.Ack(false)
}

// docs: end

func work(message amqp.Delivery) error {
	body := string(message.Body)
	fmt.Printf("{\"call\": %q}\n", body)
	if body == "never" || message.Headers["dlo-attempts"] != "2" {
		return fmt.Errorf("no stock for %s", body)
	}
	return nil
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	url, queue := os.Args[1], os.Args[2]
	connection, err := amqp.Dial(url)
	check(err)
	channel, err := connection.Channel()
	check(err)
	check(channel.Confirm(false))
	_, err = channel.QueueDeclare(queue, true, false, false, false, nil)
	check(err)
	messages, err := channel.Consume(queue, "", false, false, false, false, nil)
	check(err)
	fmt.Println("{\"ready\": true}")
	for message := range messages {
		if cause := work(message); cause != nil {
			check(handOver(channel, message, queue, cause))
		} else {
			check(message.Ack(false))
		}
	}
}
