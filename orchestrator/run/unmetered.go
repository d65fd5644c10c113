package run

import "fmt"

// HandsIn reports whether the newest delivery of an attempt by a coding agent has ended with figures, and its result is to come.
func (s *Spec) HandsIn(a *Attempt) bool {
	return s.Roles[a.Role].Usage != "" && a.metered && a.Result == nil
}

// Unmetered counts the attempts of coding agents that have ended, or were interrupted, and whose use is not known.
func (s *State) Unmetered() (n int) {
	for _, w := range s.Works {
		for _, a := range w.Attempts {
			n += a.Unmetered
			if s.Status.Ended() && s.unmetered(a) {
				n++
			}
		}
	}
	return n
}

// Plus words, behind a number of tokens, how many attempts are not in it; "" for none.
func Plus(unmetered int) string {
	switch unmetered {
	case 0:
		return ""
	case 1:
		return ", plus 1 attempt with unknown use"
	}
	return fmt.Sprintf(", plus %d attempts with unknown use", unmetered)
}
