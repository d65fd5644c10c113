package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/genai"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/model"
	"divisi/orchestrator/explain"
	"divisi/orchestrator/store"
	"divisi/subagents/agent"
)

// taped is a call of a model as a recording keeps it.
type taped struct {
	Task    string `json:"task"`
	Attempt int    `json:"attempt"`
	Turn    int    `json:"turn"`
	Purpose string `json:"purpose"`
	Request struct {
		Model    string                       `json:"model"`
		Config   *genai.GenerateContentConfig `json:"config"`
		Contents []*genai.Content             `json:"contents"`
		Fallback []model.Candidate            `json:"fallback,omitempty"`
	} `json:"request"`
	Result json.RawMessage `json:"result"`
}

// asSent: assent TAPE LEAST compares each request of the newest run with its recording in TAPE, word for word: model,
// instruction, tools, contents and configuration. There are LEAST of them or more.
func asSent(ts *testscript.TestScript, _ bool, args []string) {
	least, err := strconv.Atoi(args[1])
	ts.Check(err)
	names, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "*.turn.*.json"))
	ts.Check(err)
	ids := runNames(ts)
	g := &cli.Globals{Out: ts.Stdout(), Err: ts.Stderr(), StateDir: ts.Getenv("STATE"), Output: "text", LogLevel: "warn"}
	ts.Check(g.Setup())
	ctx := context.Background()
	b, _, err := store.Dir{Path: g.StateDir, Log: g.Log}.Open(ctx, ids[len(ids)-1])
	ts.Check(err)
	defer store.Dir{Path: g.StateDir, Log: g.Log}.Close(b)
	explainers := map[string]map[int]agent.Explained{}
	compared, bad := 0, 0
	for _, name := range names {
		var was taped
		data, err := os.ReadFile(name)
		ts.Check(err)
		ts.Check(json.Unmarshal(data, &was))
		if was.Result == nil { // it has no turn that could be shown
			continue
		}
		agent := fmt.Sprintf("%s/%d", was.Task, was.Attempt)
		if explainers[agent] == nil {
			e, err := explain.Open(ctx, store.Dir{Path: g.StateDir, Log: g.Log}, b, ids[len(ids)-1], was.Task, was.Attempt)
			ts.Check(err)
			explainers[agent], err = turnsOf(ctx, e)
			ts.Check(err)
		}
		seen, ok := explainers[agent][was.Turn]
		if !ok {
			ts.Fatalf("%s: there is no turn of %s for it", name, agent)
		}
		compared++
		if got, want := asTaped(ts, seen.Sent, was), asJSON(ts, was.Request); !bytes.Equal(got, want) {
			bad++
			ts.Logf("%s\n shown: %s\n  sent: %s", filepath.Base(name), got, want)
		}
	}
	if compared < least || bad > 0 {
		ts.Fatalf("%d of %d requests were shown that were never sent; %d were to be compared", bad, compared, least)
	}
}

// turnsOf are an attempt's turns by the number of their request.
func turnsOf(ctx context.Context, e *agent.Explainer) (map[int]agent.Explained, error) {
	out := map[int]agent.Explained{}
	for turn, turns := 1, 1; turn <= turns; turn++ {
		seen, err := e.Turn(ctx, turn)
		if err != nil {
			return nil, err
		}
		out[seen.Sent.Meta.Turn], turns = seen, seen.Turns
	}
	return out, nil
}

// asTaped writes a request the way the recording has it.
func asTaped(ts *testscript.TestScript, req *model.Request, was taped) []byte {
	was.Request.Model, was.Request.Config, was.Request.Contents, was.Request.Fallback = req.Model, req.Config, req.Contents, req.Fallback
	first := asJSON(ts, was.Request)
	was.Request.Config, was.Request.Contents, was.Request.Fallback = nil, nil, nil
	ts.Check(json.Unmarshal(first, &was.Request)) // a schema that was read is a map, and so its keys are sorted
	return asJSON(ts, was.Request)
}

func asJSON(ts *testscript.TestScript, v any) []byte {
	data, err := json.Marshal(v)
	ts.Check(err)
	return data
}
