package wire

import "errors"

// Foreign is sent by a worker that has no baseline of its environment for an attempt, or whose assignment names it as one that
// leaves it to others.
type Foreign struct {
	Worker      string `json:"-"` // which calls
	Environment string `json:"environment"`
	// Barred is set where the assignment names the worker: its environment is not known then.
	Barred bool `json:"barred,omitempty"`
	// Task and Attempt are those of the call.
	Task    string `json:"-"`
	Attempt int    `json:"-"`
	// Unable is why its gates could not be run on the base commit; empty before they were tried.
	Unable string `json:"unable,omitempty"`
}

// maxDigest bounds an environment's digest, in bytes.
const maxDigest = 128

// Check returns why no conductor can answer it.
func (f *Foreign) Check() error {
	if f.Environment == "" && !f.Barred || len(f.Environment) > maxDigest {
		return errors.New("the worker names no digest of its environment")
	}
	return nil
}

// Placed is the placement of such a worker. Lacks is why it leaves the proofs to others.
type Placed struct {
	Part  Part     `json:"part,omitempty"`
	Lacks []string `json:"lacks,omitempty"`
}

// Part is the reaction of such a worker to the attempt.
type Part string

// It has the gates run on the base commit; asks again, while another attempt has them run there; ends the attempt, which is given
// out again with the baseline; hands this attempt back; hands it back and leaves all proofs to others; carries it out, because no
// other one is there.
const (
	PartMake  Part = "make"
	PartWait  Part = "wait"
	PartAgain Part = "again"
	PartYield Part = "yield"
	PartLeave Part = "leave"
	PartProve Part = "prove"
)
