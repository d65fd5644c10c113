// Package bill reads what a coding agent prints as JSON when it works without a terminal: what it used of each model, its last
// words, and why it failed. Its input is the output of one process, its output a Bill. It believes what it reads.
package bill

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"

	"divisi/internal/spec"
)

// Bill is a coding agent's printed report of its work.
type Bill struct {
	// Lines are empty where it printed nothing that could be read.
	Lines []Line
	// Answer are its last words, Fault is why it failed: both in its own words, empty where it printed none.
	Answer, Fault string
}

// Empty reports whether nothing of the output could be read.
func (b *Bill) Empty() bool { return len(b.Lines) == 0 && b.Answer == "" && b.Fault == "" }

// Line is the use of one model. Model is empty where the agent does not name it, Cost 0 where it states none.
type Line struct {
	Model string
	Usage spec.Usage
	Cost  spec.Money
}

// folds add what one JSON object of an agent's output tells to a bill.
var folds = map[string]func(*Bill, []byte){
	spec.AgentClaude: claude, spec.AgentCodex: codex, spec.AgentGemini: gemini, spec.AgentOpencode: opencode,
}

// claude reads the object of type result, which claude -p prints last with --output-format json or stream-json. Its sums are of
// the whole session, so that a later one replaces it.
func claude(b *Bill, object []byte) {
	var e struct {
		Type, Subtype, Result string
		IsError               bool     `json:"is_error"`
		Errors                []string `json:"errors"`
		Turns                 float64  `json:"num_turns"`
		Cost                  float64  `json:"total_cost_usd"`
		Models                map[string]struct {
			Input   float64 `json:"inputTokens"`
			Output  float64 `json:"outputTokens"`
			Read    float64 `json:"cacheReadInputTokens"`
			Written float64 `json:"cacheCreationInputTokens"`
			Cost    float64 `json:"costUSD"`
		} `json:"modelUsage"`
	}
	if json.Unmarshal(object, &e) != nil || e.Type != "result" {
		return
	}
	had := b.Lines
	*b = Bill{Answer: e.Result}
	if e.IsError || e.Subtype != "success" {
		b.Fault = first(strings.Join(e.Errors, "; "), e.Result, e.Subtype)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Models)) {
		m := e.Models[name]
		b.Lines = append(b.Lines, Line{name, spec.Usage{
			Prompt: tokens(m.Input + m.Read + m.Written), Cached: tokens(m.Read), Written: tokens(m.Written),
			Output: tokens(m.Output),
		}, dollars(m.Cost)})
	}
	if len(b.Lines) > 0 { // it counts its turns for all models together
		b.Lines[0].Usage.Calls = max(1, tokens(e.Turns))
	}
	b.Lines = more(had, b.Lines)
}

// codex reads the events of codex exec --json. It names no model, its input has the tokens of the cache in it, its output the
// thoughts.
func codex(b *Bill, object []byte) {
	var e struct {
		Type  string
		Item  struct{ Type, Text string }
		Error struct{ Message string }
		Usage struct {
			Input     float64 `json:"input_tokens"`
			Cached    float64 `json:"cached_input_tokens"`
			Written   float64 `json:"cache_write_input_tokens"`
			Output    float64 `json:"output_tokens"`
			Reasoning float64 `json:"reasoning_output_tokens"`
		}
	}
	if json.Unmarshal(object, &e) != nil {
		return
	}
	switch e.Type {
	case "item.completed":
		if e.Item.Type == "agent_message" {
			b.Answer = e.Item.Text
		}
	case "turn.failed":
		b.Fault = first(e.Error.Message, e.Type)
	case "turn.completed": // the sums are of the whole session
		u := e.Usage
		b.Fault, b.Lines = "", more(b.Lines, []Line{{Usage: spec.Usage{
			Calls: 1, Prompt: tokens(u.Input), Cached: tokens(u.Cached), Written: tokens(u.Written),
			Output: tokens(u.Output - u.Reasoning), Thoughts: tokens(u.Reasoning),
		}}})
	}
}

// gemini reads the object that gemini prints last with --output-format json.
func gemini(b *Bill, object []byte) {
	var e struct {
		Session  string `json:"session_id"`
		Response string
		Error    *struct{ Type, Message string }
		Stats    struct {
			Models map[string]struct {
				API    struct{ TotalRequests float64 }
				Tokens struct{ Prompt, Candidates, Cached, Thoughts, Tool float64 }
			}
		}
	}
	if json.Unmarshal(object, &e) != nil || e.Session == "" {
		return
	}
	b.Answer = e.Response
	if e.Error != nil {
		b.Fault = first(e.Error.Message, e.Error.Type, "an error without a message")
	}
	for _, name := range slices.Sorted(maps.Keys(e.Stats.Models)) {
		m := e.Stats.Models[name]
		b.Lines = append(b.Lines, Line{Model: name, Usage: spec.Usage{
			Calls: tokens(m.API.TotalRequests), Prompt: tokens(m.Tokens.Prompt + m.Tokens.Tool), Cached: tokens(m.Tokens.Cached),
			Output: tokens(m.Tokens.Candidates), Thoughts: tokens(m.Tokens.Thoughts), ToolUse: tokens(m.Tokens.Tool),
		}})
	}
}

// opencode reads the events of opencode run --format json, and sums its steps. It names no model.
func opencode(b *Bill, object []byte) {
	var e struct {
		Type string
		Part struct {
			Text   string
			Cost   float64
			Tokens struct {
				Input, Output, Reasoning float64
				Cache                    struct{ Read, Write float64 }
			}
		}
		Error struct {
			Name string
			Data struct{ Message string }
		}
	}
	if json.Unmarshal(object, &e) != nil {
		return
	}
	switch e.Type {
	case "text":
		b.Answer = e.Part.Text
	case "error":
		b.Fault = first(e.Error.Data.Message, e.Error.Name, e.Type)
	case "step_finish":
		if b.Fault = ""; len(b.Lines) == 0 {
			b.Lines = []Line{{}}
		}
		t, sum := e.Part.Tokens, &b.Lines[0]
		sum.Cost = sum.Cost.Plus(dollars(e.Part.Cost))
		sum.Usage = sum.Usage.Add(spec.Usage{
			Calls: 1, Prompt: tokens(t.Input + t.Cache.Read + t.Cache.Write), Cached: tokens(t.Cache.Read),
			Written: tokens(t.Cache.Write), Output: tokens(t.Output), Thoughts: tokens(t.Reasoning),
		})
	}
}

// more are the lines with more tokens, the later ones where they have as many. The sums of a session grow: lesser ones are the
// words of another program, such as a test of the repository, in the same output.
func more(had, now []Line) []Line {
	total := func(lines []Line) (sum int) {
		for i := range lines {
			sum += lines[i].Usage.Total()
		}
		return sum
	}
	if total(now) < total(had) {
		return had
	}
	return now
}

// first is the first text that is not blank.
func first(texts ...string) string {
	i := slices.IndexFunc(texts, func(s string) bool { return strings.TrimSpace(s) != "" })
	if i < 0 {
		return ""
	}
	return texts[i]
}

// mostTokens bounds what is believed of one figure.
const mostTokens = 1e9

// tokens makes a count of a figure; what is no count is none.
func tokens(figure float64) int {
	if !(figure > 0) {
		return 0
	}
	return int(math.Round(min(figure, mostTokens)))
}

// dollars makes an amount of a figure; what is no amount is none.
func dollars(figure float64) spec.Money {
	if !(figure > 0) {
		return 0
	}
	return spec.Money(math.Round(min(figure*float64(spec.Dollar), float64(spec.MaxMoney))))
}
