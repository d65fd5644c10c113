package bill

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/model"
	"divisi/internal/spec"
)

func read(agent, output string) Bill {
	r := NewReader(agent)
	_, _ = r.Write([]byte(output))
	return r.Bill()
}

// The files of testdata are what the programs have printed, with the versions that docs/coding-agents.md names.
func TestBillsOfRecordedOutput(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]Bill{
		"claude.json": {Answer: "I wrote a.txt.", Lines: []Line{{
			"claude-opus-4-8[1m]", spec.Usage{Calls: 1, Prompt: 2100, Cached: 1800, Written: 100, Output: 40}, 3_525_000_000,
		}}},
		"claude_refused.json": {
			Answer: "Invalid API key · Fix external API key", Fault: "Invalid API key · Fix external API key",
		},
		"codex.jsonl": {Answer: "I wrote a.txt.", Lines: []Line{{
			Usage: spec.Usage{Calls: 1, Prompt: 1000, Cached: 900, Output: 20, Thoughts: 10},
		}}},
		"codex_failed.jsonl": {Fault: "stream disconnected before completion: error sending request"},
		"gemini.json": {Answer: "I wrote a.txt.", Lines: []Line{{
			Model: "gemini-3.8-flash", Usage: spec.Usage{Calls: 2, Prompt: 24137, Output: 21, Thoughts: 4},
		}}},
		"gemini_failed.json": {Fault: "Invalid auth method selected."},
		"opencode.jsonl": {Answer: "I wrote a.txt.", Lines: []Line{{
			Usage: spec.Usage{Calls: 2, Prompt: 2000, Cached: 1800, Output: 40, Thoughts: 20}, Cost: 500_000_000,
		}}},
		"opencode_failed.jsonl": {
			Fault: "Cannot connect to API: The socket connection was closed unexpectedly. For more information, pass `verbose: true` " +
				"in the second argument to fetch()",
		},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		require.NoError(t, err)
		agent, _, _ := strings.Cut(strings.TrimSuffix(file, filepath.Ext(file)), "_")
		require.Equal(t, want, read(agent, string(text)), file)
		r := NewReader(agent)
		for _, c := range text { // as it comes
			_, _ = r.Write([]byte{c})
		}
		require.Equal(t, want, r.Bill(), file)
	}
}

func TestWhatNoBillIsMadeOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string][2]string{
		"another program's":     {spec.AgentGemini, `{"type":"result","result":"x","modelUsage":{"m":{"inputTokens":1}}}`},
		"words":                 {spec.AgentClaude, "done\n{\n{]\n}\n"},
		"figures that are none": {spec.AgentCodex, `{"type":"turn.completed","usage":{"input_tokens":"many"}}`},
		"a line too long":       {spec.AgentCodex, `{"x":"` + strings.Repeat("y", maxObject) + `","type":"turn.failed"}`},
		"an object too long": {
			spec.AgentGemini, "{\n" + strings.Repeat(`"x":"`+strings.Repeat("y", 93)+"\",\n", maxObject/100+1) + "\"session_id\":\"x\",\"response\":\"y\"\n}",
		},
		"an agent that is not known": {"other", `{"type":"result","result":"x"}`},
	} {
		require.Equal(t, Bill{}, read(c[0], c[1]), name)
	}
}

func TestABillIsBounded(t *testing.T) {
	t.Parallel()
	require.Equal(t, []int{0, 0, 0, mostTokens, 3}, []int{
		tokens(-5), tokens(math.NaN()), tokens(math.Inf(-1)), tokens(math.Inf(1)), tokens(2.6),
	})
	require.Equal(t, []spec.Money{0, 0, spec.MaxMoney, 1}, []spec.Money{dollars(-1), dollars(math.NaN()), dollars(math.Inf(1)), dollars(1e-12)})
	step := `{"type":"step_finish","part":{"cost":1e300,"tokens":{"input":1e300}}}` + "\n"
	require.Equal(t, []Line{{Usage: spec.Usage{Calls: 2, Prompt: 2 * mostTokens}, Cost: spec.MaxMoney}}, read(spec.AgentOpencode, step+step).Lines)
}

func TestABillHasFewLines(t *testing.T) {
	t.Parallel()
	models := make([]string, 30)
	for i := range models {
		models[i] = fmt.Sprintf(`"m%02d":{"tokens":{"prompt":1}}`, i)
	}
	b := read(spec.AgentGemini, `{"session_id":"x","stats":{"models":{`+strings.Join(models, ",")+`}}}`)
	require.Len(t, b.Lines, maxLines)
	require.Equal(t, Line{Usage: spec.Usage{Prompt: 11}}, b.Lines[maxLines-1])
}

func TestTheLastWordCounts(t *testing.T) {
	t.Parallel()
	b := read(spec.AgentClaude, `{"type":"result","subtype":"error_max_turns","num_turns":3,"errors":["Reached maximum number of turns (2)"]}`)
	require.Equal(t, "Reached maximum number of turns (2)", b.Fault)
	require.Equal(t, "error_during_execution", read(spec.AgentClaude, `{"type":"result","subtype":"error_during_execution"}`).Fault)
	b = read(spec.AgentCodex, `{"type":"turn.failed","error":{"message":"late"}}`+"\n"+`{"type":"turn.completed","usage":{"input_tokens":5}}`)
	require.Empty(t, b.Fault, "it went on")
	b = read(spec.AgentOpencode, `{"type":"error","error":{"name":"APIError"}}`+"\n"+`{"type":"step_finish","part":{}}`)
	require.Empty(t, b.Fault, "it went on")
}

// What a program prints that the agent starts, with less in it, takes nothing off a bill.
func TestABillDoesNotShrink(t *testing.T) {
	t.Parallel()
	for agent, printed := range map[string][2]string{
		spec.AgentClaude: {
			`{"type":"result","subtype":"success","modelUsage":{"m":{"inputTokens":500,"costUSD":1}}}`,
			`{"type":"result","subtype":"success","modelUsage":{"m":{"inputTokens":1}}}`,
		},
		spec.AgentCodex: {
			`{"type":"turn.completed","usage":{"input_tokens":500}}`, `{"type":"turn.completed","usage":{}}`,
		},
	} {
		lines := read(agent, printed[0]).Lines
		require.Equal(t, 500, lines[0].Usage.Prompt)
		require.Equal(t, lines, read(agent, printed[0]+"\n"+printed[1]).Lines, agent)
		require.Equal(t, lines, read(agent, printed[1]+"\n"+printed[0]).Lines, agent)
	}
	none := `{"type":"result","subtype":"success"}`
	require.Len(t, read(spec.AgentClaude, `{"type":"result","modelUsage":{"m":{"inputTokens":5}}}`+"\n"+none).Lines, 1)
}

func FuzzReader(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json*")
	require.NoError(f, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(string(text), 7)
	}
	f.Fuzz(func(t *testing.T, output string, cut int) {
		for _, agent := range spec.CodingAgents() {
			whole, r := read(agent, output), NewReader(agent)
			at := min(max(cut, 0), len(output))
			_, _ = r.Write([]byte(output[:at]))
			_, _ = r.Write([]byte(output[at:]))
			require.Equal(t, whole, r.Bill(), "however it arrives")
			for _, line := range whole.Lines {
				u := line.Usage
				require.GreaterOrEqual(t, min(u.Calls, u.Prompt, u.Cached, u.Output, u.Thoughts, u.ToolUse), 0)
				require.GreaterOrEqual(t, line.Cost, spec.Money(0))
			}
		}
	})
}

// The programs count as the services bill: cached and written tokens and thoughts once, what tools put into a prompt as input. The
// amount that Claude Code states is the one of the table.
func TestABillCountsAsTheServiceDoes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		agent, printed, row string
		dollars             float64
	}{
		"claude": {
			spec.AgentClaude, `{"type":"result","subtype":"success","modelUsage":{"m":{"inputTokens":200,"outputTokens":40,"cacheReadInputTokens":1800,"cacheCreationInputTokens":100}}}`,
			"claude-opus-4-8@2026-05-28", 200*5 + 1800*0.50 + 100*6.25 + 40*25,
		},
		"codex": {
			spec.AgentCodex, `{"type":"turn.completed","usage":{"input_tokens":9000,"cached_input_tokens":2000,"cache_write_input_tokens":6000,"output_tokens":100,"reasoning_output_tokens":60}}`,
			"gpt-6.2-sol@2026-11-17", 1000*2 + 2000*0.10 + 6000*2.50 + 100*10,
		},
		"gemini": {
			spec.AgentGemini, `{"session_id":"s","stats":{"models":{"m":{"api":{"totalRequests":1},"tokens":{"prompt":1000,"candidates":21,"cached":400,"thoughts":4,"tool":300}}}}}`,
			"gemini-3.8-flash@2026-09-02", 900*0.75 + 400*0.075 + 25*3.75,
		},
		"opencode": {
			spec.AgentOpencode, `{"type":"step_finish","part":{"tokens":{"input":100,"output":20,"reasoning":10,"cache":{"write":50,"read":900}}}}`,
			"claude-haiku-4-5@2025-10-15", 100*1 + 50*1.25 + 900*0.10 + 30*5,
		},
	} {
		price, known := model.PriceOf(&spec.Project{}, c.row)
		require.True(t, known, name)
		u := read(c.agent, c.printed).Lines[0].Usage
		u.Calls = max(1, u.Calls)
		require.InEpsilon(t, c.dollars*float64(spec.Dollar)/1e6, float64(price.Cost(u, "")), 1e-9, name)
	}
}
