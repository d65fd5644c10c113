package wire

import (
	"fmt"
	"time"

	"divisi/bus"
	"divisi/internal/spec"
)

// GrantFor is how long a worker may begin calls of models after it has last told its conductor what it has of the budget. Only
// later is what it had left given to others.
const GrantFor = time.Minute

// Holding is a worker's report of its share of a run's budget, in the unit of that.
type Holding struct {
	Worker string `json:"worker"`
	// Session is new each time that the worker begins with nothing; Seq counts what it says in it. An older one is passed over.
	Session string `json:"session"`
	Seq     int    `json:"seq"`
	// Granted is all that it may spend in the session, Spent what it has spent. Base is how much the log had of it before.
	Granted int64 `json:"granted" maximum:"1000000000000000000"`
	Spent   int64 `json:"spent" maximum:"1000000000000000000"`
	Base    int64 `json:"base" maximum:"1000000000000000000"`
	// Need is how much more it has to be granted for a call; 0 when it only reports, or returns what it does not need.
	Need int64 `json:"need,omitempty" maximum:"1000000000000000000"`
	// Money reports that the figures are pico-dollars: they count in a run whose budget is in money, and in no other.
	Money bool `json:"money,omitempty"`
}

// Check returns what is wrong with it.
func (h *Holding) Check() error {
	if !bus.ValidToken(h.Worker) || !bus.ValidToken(h.Session) {
		return fmt.Errorf("%.80q and %.80q do not name a worker and its session", h.Worker, h.Session)
	}
	return spec.Bounds(h)
}

// Grant is the conductor's answer to a Holding.
type Grant struct {
	// Granted and Base are what holds from now on. A Stale one changes nothing: a newer Holding came first.
	Granted int64 `json:"granted" maximum:"1000000000000000000"`
	Base    int64 `json:"base" maximum:"1000000000000000000"`
	Stale   bool  `json:"stale,omitempty"`
	// Wait is why what is needed is not granted yet, Over why it never is.
	Wait string `json:"wait,omitempty"`
	Over string `json:"over,omitempty"`
	// Recall is the worker for which all others are to return what no call of theirs has reserved.
	Recall string `json:"-"`
}
