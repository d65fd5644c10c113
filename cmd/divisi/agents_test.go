package main

import (
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"

	"divisi/internal/testkit/anthropictest"
)

// fakeAnthropic: fakeanthropic KEY serves Anthropic's API on loopback for the rest of the script and sets ANTHROPIC_BASE_URL. It repeats
// a word twenty times, refuses the first call with a wait of a second.
func fakeAnthropic(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: fakeanthropic KEY")
	}
	var asked atomic.Int32
	s := anthropictest.New(args[0], func(*anthropictest.Request) anthropictest.Answer {
		if asked.Add(1) == 1 {
			return anthropictest.Answer{Status: http.StatusTooManyRequests, RetryAfter: 1}
		}
		return anthropictest.Answer{Text: strings.Repeat("word ", 20)}
	})
	ts.Defer(func() { s.CloseClientConnections(); s.Close() })
	ts.Setenv("ANTHROPIC_BASE_URL", s.URL)
}
