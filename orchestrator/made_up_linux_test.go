package orchestrator_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/orchestrator"
)

// madeUp are values that no worker of Divisi sends.
var madeUp = []any{
	-1, -5, 0, 1 << 31, json.RawMessage("9223372036854775807"), json.RawMessage("-9223372036854775808"),
	json.RawMessage("18446744073709551616"), json.RawMessage("1e308"), json.RawMessage("-0.5"), "x", "*", ">", "../../etc", "\u009b31m\u202e", nil,
	true,
	[]any{},
	map[string]any{},
	[]any{-1, "x", nil},
	strings.Repeat("y", 3000),
	map[string]any{"by": "command", "command": []string{"touch", "/tmp/divisi-made-up-test"}},
}

// forms are what workers send, by subject. %s is the run.
var forms = map[string]string{
	"ctl.%s.conduct.w9": `{"call":"plan","at":{"task":"capitals-001","attempt":1},"body":{"tasks":[{"id":"a","title":"a","role":"codemod",` +
		`"brief":"b","shard":{"by":"command","command":["sh","-c","touch /tmp/divisi-made-up-test"],"max_files":1}}]}}` + "\n" +
		`{"call":"read","at":{"task":"capitals-001","attempt":1},"body":{"filter":"ev.%[1]s.m.run","from":0,"skip":0}}` + "\n" +
		`{"call":"read","body":{"filter":"ev.%[1]s.m.run","from":1,"skip":1},"at":{"task":"","attempt":0}}` + "\n" +
		`{"call":"foreign","at":{"task":"capitals-001","attempt":1},"body":{"environment":"e","barred":false,"unable":"x"}}` + "\n" +
		`{"call":"enlist","body":{"worker":"w9","version":"1","protocol":4,"key":"eA==","since":"2026-01-01T00:00:00Z",` +
		`"places":{"agents":1,"gates":1},"holding":{"worker":"w9","need":5},"limits":[{"kind":"x","for":5}]}}` + "\n" +
		`{"call":"grant","body":{"worker":"w9","need":1,"spent":5,"open":3}}` + "\n" + `{"call":"leave","body":true}` + "\n" +
		`{"call":"full","body":"x"}` + "\n" + `{"call":"gap","body":"x"}` + "\n" + `{"call":"search","body":{"text":"a","most":5}}` + "\n" +
		`{"call":"recall","body":{"text":"a","most":5}}` + "\n" + `{"call":"refresh","body":true}` + "\n" +
		`{"call":"pack","body":{"commit":"x","have":["y"],"module":"m","environment":"e"}}` + "\n" +
		`{"call":"propose","body":{"id":"n","title":"t","text":"x"},"at":{"task":"a"}}`,
	"host.act.w9": `{"call":"start","run":"x","body":"o"}` + "\n" + `{"call":"act","run":"%[1]s","body":{"verb":"cancel_run"}}`,
	"host.read.w9": `{"call":"list","run":"x","body":{"stands":true}}` + "\n" + `{"call":"have","body":{"commit":"x"}}` + "\n" +
		`{"call":"diff","run":"%[1]s","at":{"task":"a"}}`,
	"host.view.w9": `{"call":"log","run":"%[1]s","body":{"from":5}}`,
	"pres.w.w9": `{"worker":"w9","key":"eA==","version":"1","protocol":4,"agents":5,"gates":1,"busy":1,"disk":5,"memory":7,` +
		`"runs":{"%[1]s":{"serves":["a"],"lacks":{}}}}`,
	"pres.limits.w9":         `{"worker":"w9","limits":[{"kind":"rate","for":5,"key":"k"}]}`,
	"ctl.%s.active":          `task.codemod.%[1]s.capitals-001--1`,
	"ctl.%s.conductor.w9":    `{"call":"act","body":{"verb":"x","waits_ns":5}}`,
	"ev.%s.a.w9.codemod.x.1": `[{"v":5,"id":"x","run":"%[1]s","kind":"result","task":"x","seq":1,"data":{"status":"done","usage":{"input":5,"output":7}}}]`,
	"ev.%s.a.w9.tester.y.1":  `[{"v":5,"id":"y","run":"%[1]s","kind":"usage","task":"y","seq":1,"data":{"usage":{"input":5,"output":7},"model":"m"}}]`,
}

// mangled yields a form once for each of its values and each that is made up, in its place.
func mangled(form string, yield func(text string)) {
	var whole any
	if json.Unmarshal([]byte(form), &whole) != nil {
		for _, v := range madeUp {
			yield(fmt.Sprint(v))
		}
		return
	}
	var walk func(v any, put func(any))
	walk = func(v any, put func(any)) {
		for _, other := range madeUp {
			put(other)
			if data, err := json.Marshal(whole); err == nil {
				yield(string(data))
			}
		}
		put(v)
		switch at := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(at)) {
				walk(at[key], func(v any) { at[key] = v })
			}
		case []any:
			for i := range at {
				walk(at[i], func(v any) { at[i] = v })
			}
		}
	}
	walk(whole, func(v any) { whole = v })
}

// resident is what a process has in memory, in bytes.
func resident(t *testing.T, pid int) int {
	t.Helper()
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmRSS:" {
			n, err := strconv.Atoi(f[1])
			require.NoError(t, err)
			return n << 10
		}
	}
	require.Fail(t, "no VmRSS")
	return 0
}

// Thousands of calls, events and claims with a value that is out of range, of another type or of another member: the host stands, keeps
// next to nothing of them, ends nothing because of them, and the run lands with an honest worker.
func TestSlowAHostStandsWhatWorkersMakeUp(t *testing.T) {
	t.Parallel()
	url, dir := broker(t), t.TempDir()
	repo, laptop, remove := newRepository()
	defer remove()
	h := hostAt(t, filepath.Join(dir, "host"), url)
	id := submitted(t, half{
		State: laptop, NATS: url, Repo: repo, Plan: plan.Name, PlanText: string(plan.Data), Role: "[sed, -i, 's/.*/A NOTE/', '{files}']",
	})
	nc, err := nats.Connect(url)
	require.NoError(t, err)
	defer nc.Close()
	standing := func() {
		_, err := nc.Request(bus.CallSubject(id, "w8"), []byte(`{"call":"read","body":{"filter":"ev.`+id+`.m.run","from":0}}`), time.Minute)
		require.NoError(t, err)
		_, err = orchestrator.On(orchestrator.Server{URL: url}).List(t.Context())
		require.NoError(t, err)
	}
	standing()
	for call, want := range map[string]string{ // of a worker that no attempt was given to
		`{"call":"plan","at":{"task":"no","attempt":1},"body":{"tasks":[{"shard":{"by":"command"}}]}}`: "has given out no attempt no/1",
		`{"call":"full","body":"x"}`: "does not count on worker w9",
		`{"call":"gap","body":"x"}`:  "gap is no call of worker w9",
		`{"call":"read","body":{"filter":"ev.` + id + `.m.run","from":1,"skip":-5}}`:     "skip: -5 is not from 0 to",
		`{"call":"grant","body":{"worker":"honest"}}`:                                    "does not count on worker w9",
		`{"call":"leave","call":"full","body":"x"}`:                                      "cannot be read",
		`{"call":"enlist","body":{"worker":"honest"}}`:                                   "worker w9 cannot speak for worker",
		`{"call":"read","body":{"filter":"` + strings.Repeat("y", 5000) + `","from":1}}`: "bytes, and may have 4096",
		`{"call":"nothing"}`: "nothing", `{"nothing":1}`: "nothing",
	} {
		m, err := nc.Request(bus.CallSubject(id, "w9"), []byte(call), time.Minute)
		require.NoError(t, err)
		require.Contains(t, string(m.Data), want, call)
	}
	before := resident(t, h.cmd.Process.Pid)
	const answered = 200 * time.Millisecond
	messages := 0
	for subject, lines := range forms {
		for form := range strings.SplitSeq(strings.ReplaceAll(lines, "%[1]s", id), "\n") {
			mangled(form, func(text string) {
				messages++
				subject := strings.ReplaceAll(subject, "%s", id)
				if strings.HasPrefix(subject, "ctl.") || strings.HasPrefix(subject, "host.") { // what is beyond a bound is not read
					_, _ = nc.Request(subject, []byte(text), answered) // not all is answered
					return
				}
				require.NoError(t, nc.Publish(subject, []byte(text)))
			})
		}
	}
	require.Greater(t, messages, 1000)
	require.NoError(t, nc.Flush())
	standing()
	grown := resident(t, h.cmd.Process.Pid) - before
	t.Logf("%d messages: the host has %.1f MB more", messages, float64(grown)/1e6)
	require.Less(t, grown, 20_000_000)

	work := spawn(t, half{Work: true, State: filepath.Join(dir, "work"), Run: id, NATS: url, Name: "honest"})
	run, err := orchestrator.On(orchestrator.Server{URL: url}).Open(t.Context(), id)
	require.NoError(t, err)
	end, err := run.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, "done", end.State, end.Reason)
	require.NoError(t, run.Close())
	work.ended()
	h.stopped()
	require.NoFileExists(t, "/tmp/divisi-made-up-test")
}
