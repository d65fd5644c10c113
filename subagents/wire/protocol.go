package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"divisi/bus"
	"divisi/internal/spec"
)

// Protocol is the version of all that crosses between machines: calls and answers, setups, assignments, events (with
// contextscope.EventVersion), presences, orders, and their subjects. A test compares it with a fingerprint of them. Programs
// compare it before anything else, see bus.Version; Presence, Conducting and Enlistment have it in each version, at the same
// place. Tests alone set it. In version 3 conductors sign, and a setup has what a person has signed; in version 4 programs tell
// their version when they connect, and who answers late gives signs of life; in version 5 a setup has the names for the git
// directory of trees; in version 6 receipts have the files that gates did not read; in version 7 all calls have one envelope, and
// what is done to a run is the name of an act with its arguments; in version 8 a run tells of programs that are others than the
// shell's, and what CI checks; in version 9 gates have paths, a run can compare with the user's shell, and receipts have the
// mutants that tests find; in version 10 receipts have the programs that ran; in version 11 an answer has the time before which
// the run does not act on it; in version 12 receipts have how many tests noticed nothing, doubts
// their kinds, roles a gateway with its models, and uses whether they are estimated; in version 13 uses have the tokens that were
// written to a service's cache and the money that was booked, and budgets can be money; in version 14 plans have rules by
// finding, and receipts the findings themselves. Version 2 was never released.
var Protocol = 14

// oldest is the oldest protocol that this program understands: raised with Protocol, but for what older programs read as meant.
const oldest = 11

// Speaks is the protocol of a version.
func Speaks(version string) bus.Version {
	return bus.Version{Program: version, Protocol: Protocol, Oldest: oldest}
}

// Conducting is sent every few seconds on bus.RunPresence by the conductor of a run that takes workers.
type Conducting struct {
	Run      string `json:"run"`
	Version  string `json:"version"`
	Protocol int    `json:"protocol"`
	// Oldest is the oldest protocol of workers that it takes; 0 for the one before its own.
	Oldest int `json:"oldest,omitempty"`
	// Over is set once the run has ended: it takes workers no more.
	Over bool `json:"over,omitempty"`
}

// NewConducting returns the message of a conductor of this program, with the version; run is "" for none.
func NewConducting(run, version string) Conducting {
	return Conducting{Run: run, Version: version, Protocol: Protocol, Oldest: oldest}
}

// moneyed is the protocol that knows budgets in money, daily the one that knows budgets of a day.
const moneyed, daily = 13, 14

// Under is the message of a run with a budget, and one of the day: what a worker would take for no limit is not shown to it.
func (c Conducting) Under(b, day spec.Budget) Conducting {
	if b.Money {
		c.Oldest = max(c.Oldest, moneyed)
	}
	if !day.IsZero() {
		c.Oldest = max(c.Oldest, daily)
	}
	return c
}

// DecodeConducting reads what a conductor says of its run.
func DecodeConducting(m bus.Message) (c Conducting, ok bool) {
	err := json.Unmarshal(m.Data, &c)
	return c, err == nil && bus.RunPresence(c.Run) == m.Subject
}

// Incompatible returns why a worker cannot work for the conductor, and what to do about it; "" when it can.
func (c Conducting) Incompatible(worker, version string, protocol int) string {
	if protocol <= c.Protocol && protocol >= cmp.Or(c.Oldest, c.Protocol-1) {
		return ""
	}
	other := "this machine"
	if c.Run != "" {
		other = "run " + c.Run
	}
	speaks := fmt.Sprintf("version %d of the protocol (Divisi %.40s)", protocol, version)
	if protocol < 1 {
		speaks = "an earlier version of the protocol, which it does not tell"
	}
	return fmt.Sprintf("worker %s is incompatible: it speaks %s, and %s version %d. Install Divisi %.40s on the worker's "+
		"machine and start it again", worker, speaks, other, c.Protocol, c.Version)
}

// Meet notes why a worker can work for none of some conductors.
func (p *Presence) Meet(conductors ...Conducting) {
	var why []string
	for _, c := range conductors {
		why = append(why, c.Incompatible(p.Worker, p.Version, p.Protocol))
	}
	if len(why) > 0 && !slices.Contains(why, "") {
		p.State, p.Incompatible = WorkerIncompatible, why[0]
	}
}

// WhyIncompatible is why some of the workers can work for no conductor.
func WhyIncompatible(workers []*Presence) string {
	var why []string
	for _, p := range workers {
		if p.Incompatible != "" {
			why = append(why, p.Incompatible)
		}
	}
	return strings.Join(why, "; ")
}
