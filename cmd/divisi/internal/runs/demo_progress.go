package runs

import (
	"time"

	"divisi/internal/text"
	"divisi/orchestrator/sample"
)

const (
	// fillEvery is how often a first demo reports what it has compiled.
	fillEvery = 5 * time.Second
	// filled is fewer entries than a whole demo leaves: about 1,500.
	filled = 1000
)

// filling reports what a first demo waits for: the go command says nothing while it compiles the sample and its tests.
type filling struct {
	say  func(string)
	size func() int
	last int
}

// begin reports whether the cache is empty, and then says so.
func (f *filling) begin() bool {
	if f.last = f.size(); f.last >= filled {
		return false
	}
	f.say("first demo: Divisi's own build cache is empty. The sample and its tests are compiled before anything can land:\n" +
		"  about a minute on a quiet machine of two cores, longer on a busy one; later demos take seconds")
	return true
}

// tell reports what was compiled since the last time; nothing where that is nothing.
func (f *filling) tell() {
	n := f.size()
	if n > f.last {
		f.say("first demo: compiling; " + text.Count(n, "file") + " in the build cache so far")
	}
	f.last = max(f.last, n)
}

// fillNotes has a first demo tell what it waits for, until the end.
func (g *Globals) fillNotes() (end func()) {
	f := &filling{say: g.Notice, size: func() int { return sample.Cache(g.StateDir) }}
	if !f.begin() {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticks := time.NewTicker(fillEvery)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				f.tell()
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}
