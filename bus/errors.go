package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The classes of failure. Callers test them with errors.Is; the text around them reports what was being done and to what.
var (
	// ErrFenced: another process appended since the position that the caller gave. The caller has lost its place and stops.
	ErrFenced = errors.New("bus: another process appended first")
	// ErrUnsettled: an answer was lost, and this login may not read whether the message was stored.
	ErrUnsettled = errors.New("bus: it is not known whether the message was stored")
	// ErrQueued: a copy of the task is queued or with a worker.
	ErrQueued = errors.New("bus: the task is queued or running already")
	// ErrNotFound: there is no object of that name.
	ErrNotFound = errors.New("bus: no such object")
	// ErrBroken: what the store has of an object is damaged or not whole. It is ErrUnavailable too.
	ErrBroken = fmt.Errorf("%w: the object is damaged or not whole", ErrUnavailable)
	// ErrExists: the name has other bytes; names are bound once and for all.
	ErrExists = errors.New("bus: the name has another object")
	// ErrTooLarge: more than MaxData bytes in one message, whose payload is to be put into an object and its name appended; or
	// more than MaxObject in that.
	ErrTooLarge = errors.New("bus: too large")
	// ErrSubject: a subject or filter that is not well formed or not meant for this call.
	ErrSubject = errors.New("bus: bad subject")
	// ErrNoOwner: no process owns the directory; open it instead of attaching.
	ErrNoOwner = errors.New("bus: no process owns the store")
	// ErrNoListener: a request to a subject without a listener.
	ErrNoListener = errors.New("bus: no process listens")
	// ErrFull: the store or its disk is full. Nothing was stored.
	ErrFull = errors.New("bus: the store is full")
	// ErrUnavailable: the server or its directory cannot be used now. What was being written may or may not be stored.
	ErrUnavailable = errors.New("bus: not available")
	// ErrNoAnswer: who was asked is silent, or the connection was lost before the answer came, and is there again. What was asked
	// for may have been done. It is ErrUnavailable too.
	ErrNoAnswer = fmt.Errorf("%w: no answer came", ErrUnavailable)
	// ErrDamaged: bytes of the store are not those that were written. OpenFiles reads what is sound.
	ErrDamaged = errors.New("bus: the store is damaged")
	// ErrClosed: the bus was closed by this process.
	ErrClosed = errors.New("bus: closed")
)

// LockedError reports that another process (or another Bus of this one) owns the directory. Its owner can be reached
// with Attach.
type LockedError struct {
	Path string // the lock file
	PID  int    // the owner, 0 if it has not written that yet
	Info string // since when, and where it listens; for people
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("bus: %s is locked by another process", e.Path)
	}
	return fmt.Sprintf("bus: %s is locked by process %d, %s", e.Path, e.PID, e.Info)
}

// Error codes of JetStream that the client library has no names for.
const (
	codeAccountResources jetstream.ErrorCode = 10002
	codeClusterNotAvail  jetstream.ErrorCode = 10008
	codeInsufficient     jetstream.ErrorCode = 10023
	codeStorageResources jetstream.ErrorCode = 10047
	codeStoreFailed      jetstream.ErrorCode = 10077
	codeNoPeers          jetstream.ErrorCode = 10005
	codeNoReplicas       jetstream.ErrorCode = 10074
)

// errJoining is the error of a stream for whose copies a cluster may still come to see the servers.
var errJoining = errors.New("the cluster does not see all of its servers yet")

// fewServers reports whether a cluster has fewer servers than a stream is to have copies.
func fewServers(err error) bool {
	code := apiCode(err)
	return code == codeNoPeers || code == codeNoReplicas
}

func apiCode(err error) jetstream.ErrorCode {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.ErrorCode
	}
	var js jetstream.JetStreamError
	if errors.As(err, &js) && js.APIError() != nil {
		return js.APIError().ErrorCode
	}
	return 0
}

// refused reports whether an expected last sequence was not met.
func refused(err error) bool {
	return apiCode(err) == jetstream.JSErrCodeStreamWrongLastSequence
}

// transient reports whether the same request may do better in a moment; the server may also have done it already. A cluster
// refuses, without a number, what is fenced by messages that it is still storing; it answers a message before it has done with
// it, so that even a writer who is alone meets this (nats-server 2.15, expectedPerSubjectInProcess).
func transient(err error) bool {
	for _, t := range []error{
		context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, jetstream.ErrNoStreamResponse,
		nats.ErrReconnectBufExceeded, nats.ErrDisconnected, nats.ErrStaleConnection, nats.ErrConnectionReconnecting, errJoining,
	} {
		if errors.Is(err, t) {
			return true
		}
	}
	code := apiCode(err)
	return code == codeClusterNotAvail || code == jetstream.JSErrCodeStreamWrongLastSequenceConstant
}

// full reports whether the store could not take what was to be stored.
func full(err error) bool {
	switch apiCode(err) {
	case codeAccountResources, codeInsufficient, codeStorageResources, codeStoreFailed:
		return true
	default:
		return false
	}
}

// class turns an error of the client library into one of this package's. The caller's own context comes first: its end
// is no error of the bus.
func (b *Bus) class(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil && errors.Is(err, ErrFull) {
		return fmt.Errorf("%w: %v", context.Cause(ctx), err) //nolint:errorlint // the end of the context decides
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, own := range []error{ErrDenied, ErrFull, ErrUnavailable, ErrDamaged, ErrClosed, ErrNoOwner, ErrFenced, ErrTooLarge} {
		if errors.Is(err, own) {
			return err
		}
	}
	switch {
	case b.Unfit() != nil:
		return b.Unfit()
	case refused(err):
		return ErrFenced
	case full(err):
		return fmt.Errorf("%w: %w", ErrFull, err)
	case apiCode(err) == jetstream.JSErrCodeStreamMessageExceedsMaximum || errors.Is(err, nats.ErrMaxPayload):
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	case b.isClosing():
		return ErrClosed
	case b.removed():
		return b.unknown()
	case b.attached && b.nc.IsClosed():
		return fmt.Errorf("%w any more: its owner ended", ErrNoOwner)
	case errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrJetStreamNotEnabled):
		return fmt.Errorf("%w: JetStream does not answer at %s; is it enabled there? (%w)", ErrUnavailable, b.url, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
