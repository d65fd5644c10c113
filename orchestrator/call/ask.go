package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"divisi/bus"
	"divisi/internal/spec"
	"divisi/orchestrator/act"
	"divisi/subagents/wire"
)

const (
	// soonAgain is after how long a call is made again for which there was no place; each time it is longer, up to laterAgain.
	soonAgain  = 50 * time.Millisecond
	laterAgain = time.Second
	// patience is how long a call waits for the next who answers, where the one that was asked has gone.
	patience = time.Minute
	// Timeout bounds a call: the commands of shard rules may take minutes.
	Timeout = 10 * time.Minute
)

// Line is the way to who answers.
type Line struct {
	// Request makes a call once, where who may make it makes it, and returns the answer.
	Request func(ctx context.Context, may Who, data []byte) ([]byte, error)
	// Objects are where large results are; nil for none.
	Objects wire.Objects
	// Timeout bounds the whole call.
	Timeout time.Duration
	// Insists has a call made again that got no answer: it does the same when it is done twice.
	Insists bool
	// Once has a call without a place made once: who asks makes it again.
	Once bool
	// Waits has a call wait for a minute for who answers, where there is none, or the one that was asked has gone.
	Waits bool
	// Wrap adds to the error of a call whom it was put to.
	Wrap func(error) error
}

// To is a line to a subject of a bus.
func To(b *bus.Bus, subject string) Line {
	return Line{
		Timeout: Timeout, Objects: b.Cache(),
		Request: func(ctx context.Context, _ Who, data []byte) ([]byte, error) { return b.Request(ctx, subject, data) },
	}
}

// Ask makes a call, and makes it again where there was no place for it. Nothing that becomes of it is an *Error.
func Ask[Q, A any](ctx context.Context, l Line, k Kind[Q, A], of Head, q Q) (result A, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	in := In{Name: k.Name, Head: of}
	var data []byte
	if in.Body, err = spec.JSON(q); err == nil {
		data, err = spec.JSON(&in)
	}
	if err == nil {
		data, err = l.result(ctx, k.May, data)
	}
	if err == nil && len(data) > 0 {
		err = json.Unmarshal(data, &result)
	}
	if k.May >= Actor && errors.Is(err, bus.ErrDenied) {
		err = denied(err, q)
	}
	if err != nil && l.Wrap != nil {
		err = l.Wrap(err)
	}
	return result, err
}

// denied is a refusal in place of the error of a bus that does not permit who asks to make a call: only another login may.
func denied(err error, q any) error {
	why := err.Error()
	if _, behind, found := strings.Cut(why, bus.ErrDenied.Error()+": "); found {
		why = behind
	}
	who, _, may := strings.Cut(why, " may not ")
	first, more, _ := strings.Cut(why, "\n")
	if do, is := q.(act.Request); is && may {
		return Refusedf("%s may not do that: %s", who, act.Public(do.Act))
	}
	if at := strings.LastIndex(first, " ("); may && at > 0 { // without the subject of the bus
		first = first[:at]
	}
	return Refusedf("%s", strings.TrimSpace(first+"\n"+more))
}

// result makes a call until there is an answer, and returns its result.
func (l *Line) result(ctx context.Context, may Who, data []byte) ([]byte, error) {
	for until, pause := time.Now().Add(patience), soonAgain; ; {
		result, err := l.once(ctx, may, data)
		switch class := ClassOf(err); {
		case l.Insists && errors.Is(err, bus.ErrNoAnswer) && ctx.Err() == nil:
			until = time.Now().Add(patience)
			continue
		case class == Again && !l.Once:
			pause = min(2*pause, laterAgain)
		case class == Gone && l.Waits:
			until, pause = time.Now().Add(patience), laterAgain
		case !l.Waits || !errors.Is(err, bus.ErrNoListener) || !time.Now().Before(until):
			return result, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (l *Line) once(ctx context.Context, may Who, data []byte) ([]byte, error) {
	data, err := l.Request(ctx, may, data)
	if err == nil {
		data, err = wire.Loosen(data)
	}
	if err != nil {
		return nil, err
	}
	var a Answer
	switch err := wire.Decode(data, &a); {
	case err != nil:
		return nil, fmt.Errorf("%w (%w)", errVersion, err)
	case a.Error != "":
		return nil, &Error{a.Class, a.Error}
	case a.Large != "" && l.Objects != nil:
		return wire.Open(ctx, l.Objects, sealedAnswer, a.Large)
	}
	return a.Result, nil
}
