package tester

import (
	"fmt"
	"sync"
	"time"

	"divisi/internal/text"
	"divisi/subagents/tool/commands"
)

const (
	// quietAfter is the silence after which a command is shown with its last line, and after which it is shown again.
	quietAfter = 30 * time.Second
	// quietLine bounds the last line, in bytes.
	quietLine = 120
)

// quiet shows a command that prints nothing: a wait is never silent.
type quiet struct {
	what  string
	doing func(string)

	mu    sync.Mutex
	heard time.Time
	line  string
	done  chan struct{}
	over  sync.WaitGroup
}

// listen begins to wait for the output of a command. stop ends it, and is called once.
func (t *Executor) listen(what string) (heard func([]byte), stop func()) {
	t.doing(what)
	q := &quiet{what: what, doing: t.doing, heard: time.Now(), done: make(chan struct{})}
	q.over.Go(q.wait)
	return q.output, func() {
		close(q.done)
		q.over.Wait()
	}
}

func (q *quiet) output(chunk []byte) {
	line := commands.NewestLine(chunk)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.heard = time.Now()
	if line != "" {
		q.line = line
	}
}

// wait shows the silence each time that it has lasted another quietAfter, and takes that back once there is output again.
func (q *quiet) wait() {
	timer := time.NewTimer(quietAfter)
	defer timer.Stop()
	shown := false
	for {
		select {
		case <-q.done:
			return
		case <-timer.C:
		}
		q.mu.Lock()
		silence, line := time.Since(q.heard), q.line
		q.mu.Unlock()
		switch {
		case silence >= quietAfter:
			q.doing(words(q.what, silence, line))
			shown = true
		case shown:
			q.doing(q.what)
			shown = false
		}
		timer.Reset(quietAfter - silence%quietAfter)
	}
}

// words report how long a command has printed nothing, and what it printed last.
func words(what string, silence time.Duration, line string) string {
	said := fmt.Sprintf("%s: nothing printed for %s", what, silence.Round(time.Second))
	if line == "" {
		return said
	}
	return said + "; last line: " + text.Clip(text.OneLine(line), quietLine)
}
