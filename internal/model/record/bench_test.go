package record

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"google.golang.org/genai"

	"divisi/internal/model"
	"divisi/internal/testkit/modeltest"
)

// long is a request with a history of about 400 KB, as an agent has it late in its work.
func long100k(run string, turn int) *model.Request {
	req := ask(run, "go", turn)
	for i := range 50 {
		call := &genai.Part{FunctionCall: &genai.FunctionCall{ID: fmt.Sprint(i), Name: "read_file", Args: map[string]any{"path": "a.go"}}}
		content := &genai.Content{Role: "model", Parts: []*genai.Part{call}}
		req.Contents = append(req.Contents, content, modeltest.Respond(content))
		last := req.Contents[len(req.Contents)-1].Parts[0].FunctionResponse
		last.Response = map[string]any{"output": strings.Repeat("	if err != nil { return fmt.Errorf(\"%w\", err) }\n", 160)}
	}
	return req
}

// What a call of a long history costs beside the model: recorded, replayed unchanged, and replayed with a difference.
func BenchmarkCall(b *testing.B) {
	dir := b.TempDir()
	r, err := Open(Options{Dir: dir, Run: thisRun})
	if err != nil {
		b.Fatal(err)
	}
	m := r.Model(says("x"))
	call := func(b *testing.B, m model.Model, req *model.Request) {
		b.Helper()
		if _, err := modeltest.Collect(b.Context(), m, req); err != nil {
			b.Fatal(err)
		}
	}
	call(b, m, long100k(thisRun, 1))
	info, err := os.Stat(dir + "/t.1.001.turn.1.json")
	if err != nil {
		b.Fatal(err)
	}
	p, err := Load(dir, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("record", func(b *testing.B) {
		req := long100k(thisRun, 2)
		for b.Loop() {
			call(b, m, req)
		}
		b.ReportMetric(float64(info.Size()), "B/file")
	})
	b.Run("same", func(b *testing.B) {
		req := long100k(otherRun, 1)
		for b.Loop() {
			call(b, p, req)
		}
	})
	b.Run("different", func(b *testing.B) {
		req := long100k(otherRun, 1)
		req.Contents[99].Parts[0].Text = "took 3s"
		req.Contents[99].Parts[0].FunctionCall = nil
		for b.Loop() {
			if _, err := modeltest.Collect(b.Context(), p, req); err == nil {
				b.Fatal("a request that differs was answered")
			}
		}
	})
}

// What it takes to check a recording of 100 such calls.
func BenchmarkLoad(b *testing.B) {
	dir := b.TempDir()
	r, err := Open(Options{Dir: dir, Run: thisRun})
	if err != nil {
		b.Fatal(err)
	}
	m := r.Model(says("x"))
	for turn := range 100 {
		steps(b.Context(), m, long100k(thisRun, turn))
	}
	b.ResetTimer()
	for b.Loop() {
		if _, err := Load(dir, nil); err != nil {
			b.Fatal(err)
		}
	}
}
