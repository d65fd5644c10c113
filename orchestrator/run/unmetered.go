package run

import "fmt"

// unmetered reports whether the newest delivery of an attempt by a coding agent has begun, and has left neither figures nor
// a result.
func (s *State) unmetered(a *Attempt) bool {
	role := s.Spec.Roles[a.Role]
	return role.Usage != "" && len(role.Chain) == 0 && a.Started && !a.metered && a.Result == nil
}

// HandsIn reports whether the newest delivery of an attempt by a coding agent has ended with figures, and its result is to come.
func (s *State) HandsIn(a *Attempt) bool {
	return s.Spec.Roles[a.Role].Usage != "" && a.metered && a.Result == nil
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
		return ", plus 1 attempt whose use is not known"
	}
	return fmt.Sprintf(", plus %d attempts whose use is not known", unmetered)
}

// meter begins to count what the next delivery of an attempt uses.
func (s *State) meter(a *Attempt) {
	if s.unmetered(a) {
		a.Unmetered++
	}
	a.metered = false
}
