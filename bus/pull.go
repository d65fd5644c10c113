package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	pullExpiry    = 20 * time.Second
	pullHeartbeat = 5 * time.Second
	pullRequest   = `{"batch":1,"expires":20000000000,"idle_heartbeat":5000000000}` // the two above, in nanoseconds
)

// statusForbidden is by which the gate answers a worker that gets no more tasks.
const statusForbidden = "403"

var errConsumerGone = errors.New("the role's queue is gone from the server")

// pull asks for one task. Neither task nor error means that none came for a while. The client library's own way drops
// a task that arrives while ctx ends, which would then lie idle for a whole AckWait; this one hands it back.
func (q *Queue) pull(ctx context.Context) (*nats.Msg, error) {
	nc, back := q.bus.nc, q.bus.Back()
	inbox := nc.NewInbox()
	answers := make(chan *nats.Msg, 8)
	sub, err := nc.ChanSubscribe(inbox, answers)
	if err != nil {
		return nil, fmt.Errorf("wait for a task: %w", err)
	}
	over := false
	defer func() {
		if !over {
			q.handBack(ctx, sub, answers)
		} else if err := sub.Unsubscribe(); err != nil {
			q.bus.log.Debug().Err(err).Str("role", q.role).Msg("stopped waiting for a task")
		}
	}()
	next := "$JS.API.CONSUMER.MSG.NEXT." + streamTasks + "." + q.config.Durable
	allowed, stop := q.bus.denials.await(ctx, []string{next})
	defer stop()
	if err := nc.PublishRequest(next, inbox, []byte(pullRequest)); err != nil {
		return nil, fmt.Errorf("ask for a task: %w", err)
	}
	silence := time.NewTimer(2 * pullHeartbeat)
	defer silence.Stop()
	for {
		select {
		case m := <-answers:
			silence.Reset(2 * pullHeartbeat)
			if m.Header.Get("Status") == "" {
				over = true
				return m, nil
			}
			if over, err = status(m); over {
				return nil, err
			}
		case <-silence.C:
			return nil, nil
		case <-back: // the server has forgotten the request
			return nil, nil
		case <-q.bus.gone:
			return nil, nats.ErrConnectionClosed
		case <-q.bus.closing:
			return nil, ErrClosed
		case <-allowed.Done():
			return nil, context.Cause(allowed)
		}
	}
}

// status reads a control answer: over reports that the request has ended, err that it ended badly.
func status(m *nats.Msg) (over bool, err error) {
	switch code := m.Header.Get("Status"); code {
	case "100": // a heartbeat
		return false, nil
	case "404", "408": // none there, time is up
		return true, nil
	case "409":
		if m.Header.Get("Description") == "Consumer Deleted" {
			return true, errConsumerGone
		}
		return true, fmt.Errorf("the server ended the request: %s", m.Header.Get("Description"))
	case statusForbidden:
		return true, fmt.Errorf("%w: %s", ErrDenied, m.Header.Get("Description"))
	case "503":
		return true, errConsumerGone
	default:
		return true, fmt.Errorf("the server refused the request: %s %s", code, m.Header.Get("Description"))
	}
}

// handBack withdraws the request and gives up a task that came too late. Drain receives until the
// server has confirmed it, where Unsubscribe would drop messages at once. After the flush none can come, but on a cluster, where
// the queue may be another server's: such a task waits for its AckWait.
func (q *Queue) handBack(ctx context.Context, sub *nats.Subscription, answers <-chan *nats.Msg) {
	flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushPatience)
	defer cancel()
	err := sub.Drain()
	if err == nil {
		err = q.bus.nc.FlushWithContext(flush)
	}
	if err != nil {
		q.bus.log.Debug().Err(err).Str("role", q.role).Msg("a task that came too late may wait for its time to run out")
		return
	}
	for {
		select {
		case m := <-answers:
			if m.Header.Get("Status") != "" {
				continue
			}
			if err := q.bus.nc.Publish(m.Reply, ackNak); err != nil {
				q.bus.log.Debug().Err(err).Str("subject", m.Subject).Msg("a task that came too late waits for its AckWait")
			}
		default:
			return
		}
	}
}
