package main

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"

	"divisi/internal/testkit/anthropictest"
)

// fakeAnthropic: fakeanthropic KEY [hold|expire] serves Anthropic's API on loopback for the rest of the script and sets ANTHROPIC_BASE_URL. It repeats
// a word twenty times, refuses the first call with a wait of a second, and with hold stops in the middle of the stream of the second one,
// and makes the file held, or with expire refuses the key once, in the second one.
func fakeAnthropic(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: fakeanthropic KEY [hold|expire]")
	}
	var asked atomic.Int32
	s := anthropictest.New(args[0], func(*anthropictest.Request) anthropictest.Answer {
		n := asked.Add(1)
		if n == 1 {
			return anthropictest.Answer{Status: http.StatusTooManyRequests, RetryAfter: 1}
		}
		if n == 2 && slices.Contains(args, "expire") {
			return anthropictest.Answer{Status: http.StatusUnauthorized}
		}
		hold := n == 2 && slices.Contains(args, "hold")
		if hold {
			ts.Check(os.WriteFile(ts.MkAbs("held"), nil, 0o600))
		}
		return anthropictest.Answer{Text: strings.Repeat("word ", 20), Hold: hold}
	})
	ts.Defer(func() { s.CloseClientConnections(); s.Close() })
	ts.Setenv("ANTHROPIC_BASE_URL", s.URL)
	ts.Setenv("CLAUDE_CODE_CUSTOM_OAUTH_URL", s.URL)
}
