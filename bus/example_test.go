package bus_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"divisi/bus"
)

// Two conductors believe that the run is theirs; the log lets one of them continue.
func ExampleBus_AppendFiltered() {
	dir, err := os.MkdirTemp("", "divisi-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()
	b, err := bus.Open(ctx, bus.Options{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = b.Close(ctx) }()

	mine := bus.ConductorFilter("r1")
	pos, err := b.AppendFiltered(ctx, bus.ConductorSubject("r1", "run"), mine, []byte("planning"), 0)
	fmt.Println(pos, err)
	_, err = b.AppendFiltered(ctx, bus.ConductorSubject("r1", "run"), mine, []byte("planning, too"), 0)
	fmt.Println(errors.Is(err, bus.ErrFenced))

	for m, err := range b.Read(ctx, bus.RunFilter("r1"), 0) {
		fmt.Println(m.Subject, string(m.Data), err)
	}
	// Output:
	// 1 <nil>
	// true
	// ev.r1.m.run planning <nil>
}

// A worker takes a task, stores its result in the log and only then acknowledges the task.
func ExampleQueue_Next() {
	dir, err := os.MkdirTemp("", "divisi-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()
	b, err := bus.Open(ctx, bus.Options{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = b.Close(ctx) }()

	q, err := b.Queue(ctx, "reader", bus.QueueOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := b.Enqueue(ctx, bus.TaskSubject("reader", "r1", "survey"), "r1.survey.1", []byte("look around")); err != nil {
		fmt.Println(err)
		return
	}
	d, err := q.Next(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.ID, d.Number, string(d.Data))
	_, err = b.Append(ctx, bus.AttemptSubject("r1", "local", "reader", "survey", 1), []byte("all quiet"), 0)
	fmt.Println(err, d.Ack(ctx))
	// Output:
	// r1.survey.1 1 look around
	// <nil> <nil>
}
