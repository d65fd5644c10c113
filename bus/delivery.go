package bus

import (
	"context"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
)

// What a worker answers to a delivery.
var (
	ackDone     = []byte("+ACK")
	ackNak      = []byte("-NAK")
	ackProgress = []byte("+WPI")
	ackTerm     = []byte("+TERM ")
)

// Delivery is a task handed to this worker. It goes to another one when AckWait passes without InProgress, so its work
// must be fenced: a late Ack of this delivery would end the task for its successor too.
type Delivery struct {
	Subject    string
	ID         string // as given to Enqueue
	Data       []byte
	Number     int // 1 for the first time that the task is given out
	AckSubject string
	bus        *Bus
}

func (b *Bus) delivery(m *nats.Msg) (*Delivery, error) {
	meta, err := m.Metadata()
	if err != nil {
		return nil, fmt.Errorf("delivery of %s: %w", m.Subject, err)
	}
	return &Delivery{
		Subject: m.Subject, ID: m.Header.Get(headerTask), Data: m.Data,
		Number: int(meta.NumDelivered), AckSubject: m.Reply, bus: b,
	}, nil
}

// InProgress restarts AckWait. It returns when the sign of life is on its way; whether the task is still this worker's
// cannot be learnt from it.
func (d *Delivery) InProgress(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("keep %s: %w", d.Subject, context.Cause(ctx))
	}
	if err := d.bus.nc.Publish(d.AckSubject, ackProgress); err != nil {
		return fmt.Errorf("keep %s: %w", d.Subject, d.bus.class(ctx, err))
	}
	return nil
}

// Ack takes the task off the queue, and waits until the server has done so. Lost answers are retried. Its result must be
// in the log first.
func (d *Delivery) Ack(ctx context.Context) error {
	if err := d.bus.settle(ctx, d.AckSubject, ackDone); err != nil {
		return fmt.Errorf("acknowledge %s: %w", d.Subject, err)
	}
	return nil
}

// Nak hands the task back, to be given out again at once.
func (d *Delivery) Nak(ctx context.Context) error {
	if err := d.bus.settle(ctx, d.AckSubject, ackNak); err != nil {
		return fmt.Errorf("hand back %s: %w", d.Subject, err)
	}
	return nil
}

// Term takes the task off the queue for good; reason is for people who watch the server.
func (d *Delivery) Term(ctx context.Context, reason string) error {
	clean := strings.Join(strings.Fields(reason), " ")
	if err := d.bus.settle(ctx, d.AckSubject, append(ackTerm[:len(ackTerm):len(ackTerm)], clean...)); err != nil {
		return fmt.Errorf("terminate %s: %w", d.Subject, err)
	}
	return nil
}

// settle sends an answer and returns when the server has acted on it. The server says yes to every answer, also to one
// that comes too late.
func (b *Bus) settle(ctx context.Context, ackSubject string, answer []byte) error {
	_, err := b.attempt(ctx, func(ctx context.Context) error {
		_, err := b.nc.RequestWithContext(ctx, ackSubject, answer)
		return err
	})
	return b.class(ctx, err)
}
