package wire

import (
	"errors"
	"time"
)

// ErrWithheld is the error of a worker whose conductor does not let it read of the log: the attempt has ended, or is not its.
var ErrWithheld = errors.New("the conductor does not show it")

// Reading asks the conductor of a run for messages of the log, which a worker elsewhere cannot read by itself: those that Filter
// matches, from position From on, for an attempt of a task. The setups of the run need no attempt.
type Reading struct {
	Filter string `json:"filter"`
	From   uint64 `json:"from"`
	// Task and Attempt are those of the call.
	Task    string `json:"-"`
	Attempt int    `json:"-"`
	// Skip is how many bytes of the message at From the caller has.
	Skip int `json:"skip,omitempty"`
}

// Page is the answer: some messages, oldest first. Next and Skip are those of the reading that goes on. Skip above 0 tells that
// the last message continues there; More that the log has more by now.
type Page struct {
	Messages []Stored `json:"messages,omitempty"`
	Next     uint64   `json:"next"`
	Skip     int      `json:"skip,omitempty"`
	More     bool     `json:"more,omitempty"`
}

// Stored is one message of the log, or a part of one.
type Stored struct {
	Subject string    `json:"subject"`
	Pos     uint64    `json:"pos"`
	Time    time.Time `json:"time"`
	Data    []byte    `json:"data"`
}
