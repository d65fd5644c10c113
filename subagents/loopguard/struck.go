package loopguard

// Struck counts a loop that was found elsewhere: by a clone, in an answer that was discarded for it. It is as if this guard had
// found it.
func (g *Guard) Struck(kind, detail string) *Strike {
	if g.stopped != nil {
		return g.stopped
	}
	return g.strike(kind, detail)
}
