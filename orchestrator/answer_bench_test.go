package orchestrator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator"
)

// held is a decision as the page has it.
type held struct {
	Run     string `json:"run"`
	ID      string `json:"id"`
	About   string `json:"about"`
	Attempt int    `json:"attempt"`
}

// browser asks a page what a browser does.
type browser struct {
	b    *testing.B
	http *http.Client
	base string
}

func browserOf(b *testing.B, p *orchestrator.Page) *browser {
	b.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(b, err)
	at, err := url.Parse(p.URL())
	require.NoError(b, err)
	one := &browser{b, &http.Client{Jar: jar}, "http://" + at.Host}
	res, err := one.http.Get(p.URL())
	require.NoError(b, err)
	require.NoError(b, res.Body.Close())
	b.Cleanup(one.http.CloseIdleConnections)
	return one
}

// decisions are all that are open.
func (o *browser) decisions() (all []held) {
	o.b.Helper()
	res, err := o.http.Get(o.base + "/api/v1/decisions")
	require.NoError(o.b, err)
	require.NoError(o.b, json.NewDecoder(res.Body).Decode(&all))
	require.NoError(o.b, res.Body.Close())
	return all
}

// reject has the task of a held patch tried once more.
func (o *browser) reject(d held) {
	o.b.Helper()
	body, err := json.Marshal(map[string]any{"attempt": d.Attempt, "option": "reject", "text": "once more"})
	require.NoError(o.b, err)
	req, err := http.NewRequestWithContext(o.b.Context(), http.MethodPost,
		fmt.Sprintf("%s/api/v1/runs/%s/decisions/%s", o.base, d.Run, url.PathEscape(d.ID)), bytes.NewReader(body))
	require.NoError(o.b, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Origin", o.base)
	res, err := o.http.Do(req)
	require.NoError(o.b, err)
	said, err := io.ReadAll(res.Body)
	require.NoError(o.b, err)
	require.Equal(o.b, http.StatusOK, res.StatusCode, string(said))
	require.NoError(o.b, res.Body.Close())
}

// BenchmarkAnswer answers the held patches of a run from its page, one after the other. It reports how long it takes from the click
// to the event in the log by which the task is dispatched again: the median and the longest.
func BenchmarkAnswer(b *testing.B) {
	const tasks = 20
	for b.Loop() {
		var took []time.Duration
		heldPatches(b, tasks, func(one *browser, d held, dispatched <-chan string) {
			began := time.Now()
			one.reject(d)
			for d.About != <-dispatched {
			}
			took = append(took, time.Since(began))
		})
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "ms-median")
		b.ReportMetric(float64(took[len(took)-1].Milliseconds()), "ms-max")
	}
}

// heldPatches has a run hold the first patch of each of its tasks, and calls answer for each of them. Each dispatch after that is sent
// to dispatched: the task that it is of.
func heldPatches(b *testing.B, tasks int, answer func(one *browser, d held, dispatched <-chan string)) {
	repo, stateDir, remove := newRepository()
	defer remove()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	text := &strings.Builder{}
	text.WriteString("goal: Write many notes\ntasks:\n")
	for i := range tasks {
		fmt.Fprintf(text, "  - {id: note-%d, role: editor, brief: Write a note., files: [note-%d.txt]}\n", i, i)
	}
	waits := func(ctx context.Context, _ orchestrator.Approval) (orchestrator.Answer, error) { // for the page
		<-ctx.Done()
		return orchestrator.Answer{}, ctx.Err()
	}
	run, err := orchestrator.Start(ctx, orchestrator.Options{
		Machine: orchestrator.Machine{StateDir: stateDir, OnDoubt: "ask", Approve: waits}, Repo: repo, Review: true,
		Plan: &orchestrator.File{Name: "plan.yaml", Data: []byte(text.String())}, Roles: []orchestrator.File{role(`[sh, -c, 'cp notes.txt "$DIVISI_FILES"']`)},
	})
	require.NoError(b, err)
	page, err := orchestrator.NewPage(ctx, orchestrator.PageOptions{Runs: orchestrator.Local(stateDir)})
	require.NoError(b, err)
	require.NoError(b, page.Start(ctx))
	defer page.Stop()
	one, dispatched := browserOf(b, page), make(chan string, 10*tasks)
	go func() { defer close(dispatched); triedAgain(ctx, run, dispatched) }()
	pause := time.Tick(50 * time.Millisecond) // the page's decisions are made anew once a second
	for done := map[string]bool{}; len(done) < tasks; <-pause {
		for _, d := range one.decisions() {
			if !done[d.About] {
				done[d.About] = true
				answer(one, d, dispatched)
			}
		}
	}
	require.NoError(b, run.Close())
	for range dispatched {
	}
}

// triedAgain sends the tasks of a run that are dispatched for a second time.
func triedAgain(ctx context.Context, run *orchestrator.Run, dispatched chan<- string) {
	for line, err := range run.Events(ctx) {
		if err != nil {
			return // the run is closed
		}
		var event struct {
			Task string `json:"task"`
			Data struct {
				Dispatch struct {
					Attempt int `json:"attempt"`
				} `json:"dispatch"`
			} `json:"data"`
		}
		if json.Unmarshal(line, &event) == nil && event.Data.Dispatch.Attempt == 2 {
			dispatched <- event.Task
		}
	}
}
