package conduct

import (
	"divisi/internal/usage"
)

// checkTape refuses a recording of a replay.
func (o *Machine) checkTape() error {
	if o.Record != "" && o.Replay != "" {
		return usage.Wrong("record does not go with a replay, which makes no new exchanges")
	}
	if o.Elsewhere && o.Record+o.Replay != "" {
		return usage.Errorf("a recording is made, and replayed, where the models are called: give Record or Replay to Work")
	}
	return nil
}
