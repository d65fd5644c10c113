package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/usage"
	"divisi/orchestrator/act"
)

// post sends a body to the page as its own script does; change may alter the request.
func post(t *testing.T, s *Server, path, body string, change func(*http.Request)) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base(s)+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Origin", strings.TrimSuffix(base(s), "/"))
	cookie, _ := cookies.Load(base(s))
	req.AddCookie(cookie.(*http.Cookie)) //nolint:forcetypeassert // know stores it
	if change != nil {
		change(req)
	}
	res, err := client().Do(req)
	require.NoError(t, err)
	data, err := io.ReadAll(res.Body)
	require.NoError(t, errors.Join(err, res.Body.Close()))
	return res.StatusCode, string(data)
}

// known waits until the survey has found the run.
func known(t *testing.T, s *Server) *place {
	t.Helper()
	require.NoError(t, s.survey(t.Context()))
	p, ok := s.opts.Controller.(*place)
	require.True(t, ok)
	return p
}

func TestActs(t *testing.T) {
	t.Parallel()
	s := start(t, sampleLog(t, 5), nil)
	p := known(t, s)
	for _, c := range []struct {
		path, body string
		want       act.Args
	}{
		{"acts", `{"verb":"pause"}`, act.Pause{}},
		{"acts", `{"verb":"pause","task":"","tasks":[],"text":"","reason":null,"forgotten":false}`, act.Pause{}},
		{"acts", `{"verb":"cancel","task":"a","tasks":[],"reason":"not needed"}`, act.Cancel{Task: "a", Reason: "not needed"}},
		{"acts", `{"verb":"send","task":"a","text":"go on"}`, act.Send{Task: "a", Text: "go on"}},
		{"acts", `{"verb":"skip","tasks":["a","b"],"reason":"why","brief":""}`, act.Skip{Tasks: []string{"a", "b"}, Reason: "why"}},
		{"acts", `{"verb":"retry","tasks":["a"],"brief":"b","role":"r","model":"m"}`, act.Retry{Tasks: []string{"a"}, Brief: "b", Role: "r", Model: "m"}},
		{"acts", `{"verb":"cancel","tasks":["a"],"text":"not needed"}`, act.Cancel{Task: "a", Reason: "not needed"}},
		{"acts", `{"verb":"send","tasks":["a"],"text":"go on"}`, act.Send{Task: "a", Text: "go on"}},
		{"acts", `{"verb":"stop_line","text":"why"}`, act.StopLine{Reason: "why"}},
		{"decisions/a@12", `{"option":"reject","text":"no","attempt":2,"task":"a"}`, act.Decide{Decision: "a@12", Attempt: 2, Option: "reject", Text: "no", Task: "a"}},
		{"decisions/a@12/back", `{}`, act.TakeBack{Decision: "a@12"}},
		{"decisions/a@12/now", `{}`, act.Apply{Decision: "a@12"}},
		{"acts", `{"verb":"pause","hold":true}`, act.Pause{}},
		{"acts", `{"verb":"skip","tasks":["a"],"hold":false}`, act.Skip{Tasks: []string{"a"}}},
	} {
		status, body := post(t, s, "api/v1/runs/r1/"+c.path, c.body, nil)
		require.Equal(t, http.StatusOK, status, body)
		require.JSONEq(t, fmt.Sprintf(`{"outcome":"%s is done"}`, c.want.Act()), body)
		require.Equal(t, did{"r1", "ana", c.want}, p.acts[len(p.acts)-1])
	}
}

// What the page sends is held back, and what a program sends is not.
func TestWhatThePageSendsIsHeldBack(t *testing.T) {
	t.Parallel()
	s := start(t, sampleLog(t, 5), nil)
	p := known(t, s)
	status, body := post(t, s, "api/v1/runs/r1/decisions/a@12", `{"option":"accept","hold":true}`, nil)
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"outcome":"decide is done","held":["a@12"]}`, body)
	require.Equal(t, act.Held{Args: act.Decide{Decision: "a@12", Option: "accept"}}, p.acts[0].Args)
	for _, junk := range []string{`"yes"`, `1`, `[true]`, `{}`} {
		status, _ = post(t, s, "api/v1/runs/r1/acts", `{"verb":"skip","tasks":["a"],"hold":`+junk+`}`, nil)
		require.Equal(t, http.StatusBadRequest, status)
	}
	require.Len(t, p.acts, 1)
}

func TestActsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := start(t, sampleLog(t, 5), nil)
	p := known(t, s)
	foreign := func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }
	for name, c := range map[string]struct {
		path, body string
		change     func(*http.Request)
		want       int
	}{
		"unknown verb":      {"r1/acts", `{"verb":"format"}`, nil, 400},
		"decide as an act":  {"r1/acts", `{"verb":"decide","option":"accept"}`, nil, 400},
		"too many tasks":    {"r1/acts", `{"verb":"cancel","tasks":["a","b"]}`, nil, 400},
		"a task for a run":  {"r1/acts", `{"verb":"pause","tasks":["a"]}`, nil, 400},
		"no task":           {"r1/acts", `{"verb":"skip"}`, nil, 400},
		"no text":           {"r1/acts", `{"verb":"send"}`, nil, 400},
		"another decision":  {"r1/decisions/a@1", `{"option":"accept","decision":"b@1"}`, nil, 400},
		"two reasons":       {"r1/acts", `{"verb":"skip","tasks":["a"],"reason":"why","text":"or why"}`, nil, 400},
		"two ways to name":  {"r1/acts", `{"verb":"cancel","task":"a","tasks":["b"]}`, nil, 400},
		"no list of tasks":  {"r1/acts", `{"verb":"skip","tasks":"a"}`, nil, 400},
		"no text for words": {"r1/acts", `{"verb":"send","text":1}`, nil, 400},
		"no option":         {"r1/decisions/a@1", `{}`, nil, 400},
		"unknown field":     {"r1/acts", `{"verb":"pause","run":"r2"}`, nil, 400},
		"no JSON":           {"r1/acts", `verb=pause`, nil, 400},
		"two values":        {"r1/acts", `{"verb":"pause"}{"verb":"cancel"}`, nil, 400},
		"no UTF-8":          {"r1/acts", "{\"verb\":\"send\",\"text\":\"\xff\"}", nil, 400},
		"large":             {"r1/acts", `{"verb":"send","text":"` + strings.Repeat("x", maxBody) + `"}`, nil, 413},
		"another run":       {"r2/acts", `{"verb":"pause"}`, nil, 404},
		"foreign page":      {"r1/acts", `{"verb":"pause"}`, foreign, 403},
		"no origin":         {"r1/acts", `{"verb":"pause"}`, func(r *http.Request) { r.Header.Del("Origin") }, 403},
		"form":              {"r1/acts", `{"verb":"pause"}`, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415},
		"no cookie":         {"r1/acts", `{"verb":"pause"}`, func(r *http.Request) { r.Header.Del("Cookie") }, 401},
		"token for cookie":  {"r1/acts?" + strings.SplitAfter(s.URL(), "?")[1], `{"verb":"pause"}`, func(r *http.Request) { r.Header.Del("Cookie") }, 401},
		"rebound name":      {"r1/acts", `{"verb":"pause"}`, func(r *http.Request) { r.Host = "evil.example" }, 421},
		"cross-site script": {"r1/acts", `{"verb":"pause"}`, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
	} {
		status, body := post(t, s, "api/v1/runs/"+c.path, c.body, c.change)
		require.Equal(t, c.want, status, "%s: %s", name, body)
		require.Empty(t, p.acts, name)
	}
}

// A field that says something to another act is refused with its name and that of the act.
func TestFieldsOfOtherActs(t *testing.T) {
	t.Parallel()
	s := start(t, sampleLog(t, 5), nil)
	known(t, s)
	for body, want := range map[string]string{
		`{"verb":"pause","text":"now"}`:                        "pause takes no text: leave it out",
		`{"verb":"pause","tasks":["a"]}`:                       "pause takes no tasks: leave it out",
		`{"verb":"resume","task":"a"}`:                         "resume takes no task: leave it out",
		`{"verb":"skip","tasks":["a"],"brief":"b"}`:            "skip takes no brief: leave it out",
		`{"verb":"cancel","task":"a","forgotten":true}`:        "cancel takes no forgotten: leave it out",
		`{"verb":"send","task":"a","text":"t","reason":"why"}`: "send takes no reason: leave it out",
		`{"verb":"drop","tasks":["a"],"run\u001b[2J":"r2"}`:    `drop has no field \"run\\x1b[2J\"`,
	} {
		status, said := post(t, s, "api/v1/runs/r1/acts", body, nil)
		require.Equal(t, http.StatusBadRequest, status, body)
		require.Contains(t, said, want)
	}
}

// What cannot be done is told with its reason: a mistake of the person is another status than a run that does not answer.
func TestActsThatFail(t *testing.T) {
	t.Parallel()
	s := start(t, sampleLog(t, 5), nil)
	p := known(t, s)
	for err, want := range map[error]int{
		usage.Errorf("a@1 was answered: accept"): http.StatusConflict, errors.New("no connection"): http.StatusBadGateway,
	} {
		p.fails = err
		status, body := post(t, s, "api/v1/runs/r1/decisions/a@1", `{"option":"accept"}`, nil)
		require.Equal(t, want, status)
		var said map[string]string
		require.NoError(t, json.Unmarshal([]byte(body), &said))
		require.Equal(t, err.Error(), said["error"])
	}
}

func FuzzBody(f *testing.F) {
	f.Add([]byte(`{"verb":"pause"}`))
	f.Add([]byte(`{"verb":"retry","tasks":["a"],"attempt":1}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(string(body)))
		require.NoError(t, err)
		sent, err := bodyOf(req)
		if err != nil {
			var refused *refusedError
			require.ErrorAs(t, err, &refused)
			require.GreaterOrEqual(t, refused.status, 400)
			return
		}
		for _, e := range act.All() {
			if a, err := asked(e, "", sent); err == nil {
				require.Equal(t, e.Name, a.Act())
			}
		}
	})
}
