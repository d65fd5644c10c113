// Package clock tells the time, and can be stopped in tests.
package clock

import "time"

// Clock tells the time.
type Clock interface{ Now() time.Time }

// System is the clock of the machine.
var System Clock = system{}

type system struct{}

func (system) Now() time.Time { return time.Now() }

// Now is the time of the System clock.
func Now() time.Time { return System.Now() }

// Stopped is a clock that always tells the same time.
type Stopped time.Time

// Now is the time at which the clock was stopped.
func (s Stopped) Now() time.Time { return time.Time(s) }
