package workspace

import "time"

// Look is look, for tests.
var Look = (*Slot).look

// ContentErrorOf is contentError, for tests.
var ContentErrorOf = contentError

// Touched is touched, for tests.
var Touched = (*Slot).touched

// ReadEntry is readEntry, for tests.
var ReadEntry = readEntry

// GitDir is the slot's own git directory.
func (s *Slot) GitDir() string { return s.gitDir }

// SetPatience has slots of a pool made again that cannot be read in time.
func (p *Pool) SetPatience(d time.Duration) { p.patience = d }
