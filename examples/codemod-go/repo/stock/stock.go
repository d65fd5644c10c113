// Package stock counts what is there.
package stock

import t "time"

// Counted is when something was counted, and how many there were.
type Counted struct {
	At   t.Time
	Many int
}

// Count counts now.
func Count(many int) Counted { return Counted{At: t.Now(), Many: many} }
