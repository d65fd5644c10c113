package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"divisi/internal/text"
	"divisi/orchestrator"
	"divisi/orchestrator/console/display"
)

// tellEvery is how long a trial goes on without a word.
const tellEvery = 10 * time.Second

// trying tells what a trial does, and for how long, in lines.
type trying struct {
	out io.Writer
	now func() time.Time

	what  string
	since time.Time
}

// said takes the words of an event.
func (t *trying) said(line json.RawMessage) {
	var e struct {
		Kind string `json:"kind"`
		Data struct {
			Doing string `json:"doing"`
		} `json:"data"`
	}
	if json.Unmarshal(line, &e) == nil && e.Kind == "progress" {
		t.doing(e.Data.Doing)
	}
}

// doing tells what begins, or more of what goes on.
func (t *trying) doing(what string) {
	if t.what == "" || !strings.HasPrefix(what, t.what) {
		t.what, t.since = what, t.now()
	}
	_, _ = fmt.Fprintf(t.out, "%s %s\n", t.now().Format("15:04:05"), display.Sanitize(what)) // the run's own lines report that
}

// tick is called where nothing was said for a while.
func (t *trying) tick() { t.doing(t.what + ", for " + text.Span(t.now().Sub(t.since))) }

// tellTrial tells what a trial does until stop is called.
func (g *Globals) tellTrial(ctx context.Context, r *orchestrator.Run) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	lines, over := make(chan json.RawMessage), sync.WaitGroup{}
	over.Go(func() {
		for line, err := range r.Events(ctx) {
			if err != nil { // who follows the run reports it
				return
			}
			select {
			case lines <- line:
			case <-ctx.Done():
				return
			}
		}
	})
	over.Go(func() {
		t := &trying{out: g.Out, now: time.Now}
		t.doing("prepares a work tree")
		for {
			select {
			case line := <-lines:
				t.said(line)
			case <-time.After(tellEvery):
				t.tick()
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		over.Wait()
	}
}
