package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"divisi/bus"
)

// Protocol is the version of what workers and conductors say to each other. A conductor takes workers of its own and of the one
// before. Presence, Conducting and Enlistment have it in each version, at the same place. Tests alone set it. In version 3
// conductors sign, and a setup has what a person has signed. Version 2 was never released.
var Protocol = 3

// Conducting is what the conductor of a run that takes workers says, every few seconds, on bus.RunPresence.
type Conducting struct {
	Run      string `json:"run"`
	Version  string `json:"version"`
	Protocol int    `json:"protocol"`
	// Over is set once the run has ended: it takes workers no more.
	Over bool `json:"over,omitempty"`
}

// NewConducting is what a conductor of this program says, which has the version; run is "" for none.
func NewConducting(run, version string) Conducting {
	return Conducting{Run: run, Version: version, Protocol: Protocol}
}

// DecodeConducting reads what a conductor says of its run.
func DecodeConducting(m bus.Message) (c Conducting, ok bool) {
	err := json.Unmarshal(m.Data, &c)
	return c, err == nil && bus.RunPresence(c.Run) == m.Subject
}

// Incompatible returns why a worker cannot work for the conductor, and what to do about it; "" when it can.
func (c Conducting) Incompatible(worker, version string, protocol int) string {
	if protocol == c.Protocol || protocol == c.Protocol-1 {
		return ""
	}
	other := "this machine"
	if c.Run != "" {
		other = "run " + c.Run
	}
	return fmt.Sprintf("worker %s is incompatible: it speaks version %d of the protocol (Divisi %.40s), and %s version %d. "+
		"Install Divisi %.40s on the worker's machine and start it again",
		worker, protocol, version, other, c.Protocol, c.Version)
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
