package geminitest

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"divisi/internal/spec"
)

// Script reports what is answered. It is immutable once parsed.
type Script struct {
	Rules []Rule `yaml:"rules"`
}

// Rule answers the turns of the tasks that it matches.
type Rule struct {
	// Task and Role are globs; empty matches all. The role is read from a line "Role: NAME" of the system instruction or
	// the first user content.
	Task string `yaml:"task,omitempty"`
	Role string `yaml:"role,omitempty"`
	// Attempt 0 matches every attempt.
	Attempt int `yaml:"attempt,omitempty"`
	// Turn is the turn that the first step answers; default 1.
	Turn int `yaml:"turn,omitempty"`
	// Purpose defaults to "turn"; "*" matches all.
	Purpose string `yaml:"purpose,omitempty"`
	// Match is a regular expression that the request's text must match.
	Match string `yaml:"match,omitempty"`
	// Repeat makes the last step answer all later turns.
	Repeat bool     `yaml:"repeat,omitempty"`
	Steps  []Answer `yaml:"steps"`

	task, role, match *regexp.Regexp
}

// Answer answers one turn: thought, text and calls in this order, or a fault.
type Answer struct {
	Thought string `yaml:"thought,omitempty"`
	Text    string `yaml:"text,omitempty"`
	Calls   []Call `yaml:"calls,omitempty"`
	// Usage is counted from the sizes when it is nil.
	Usage *Usage `yaml:"usage,omitempty"`
	// Chunk is the number of characters of text in one chunk; 0 means all.
	Chunk int `yaml:"chunk,omitempty"`
	// Delay is the time to the first token, ChunkDelay the time between chunks.
	Delay      spec.Duration `yaml:"delay,omitempty"`
	ChunkDelay spec.Duration `yaml:"chunk_delay,omitempty"`
	// Finish overrides the finish reason STOP.
	Finish string `yaml:"finish,omitempty"`
	// NoIDs leaves the ids of calls out, as older models do.
	NoIDs bool `yaml:"no_ids,omitempty"`
	// Noise writes the stream as gateways do: comments, other fields, CRLF, data over several lines, [DONE].
	Noise bool `yaml:"noise,omitempty"`

	// Fault is one of Faults; Times reports how many tries it hits before the answer comes, 0 means all of them (1 when the
	// step also has an answer).
	Fault string `yaml:"fault,omitempty"`
	Times int    `yaml:"times,omitempty"`
	// RetryDelay and Quota go into a 429.
	RetryDelay spec.Duration `yaml:"retry_delay,omitempty"`
	Quota      string        `yaml:"quota,omitempty"`
}

// Call is one function call. Strings in Args are templates.
type Call struct {
	Name string         `yaml:"name"`
	Args map[string]any `yaml:"args,omitempty"`
	// ForEach repeats the call for each match of the regular expression in the request's text; {{item}} is its first group.
	ForEach string `yaml:"for_each,omitempty"`
}

// Usage is the claimed cost of an answer, in tokens.
type Usage struct {
	Prompt   int `yaml:"prompt,omitempty"`
	Cached   int `yaml:"cached,omitempty"`
	Output   int `yaml:"output,omitempty"`
	Thoughts int `yaml:"thoughts,omitempty"`
}

// Load reads a script from a file.
func Load(path string) (*Script, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	s, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("script %s: %w", path, err)
	}
	return s, nil
}

// Parse reads a script from YAML or JSON. An unknown field is an error with its line; all other faults are reported
// together.
func Parse(data []byte) (*Script, error) {
	var s Script
	if err := yaml.UnmarshalWithOptions(data, &s, yaml.Strict()); err != nil {
		return nil, err
	}
	if len(s.Rules) == 0 {
		return nil, errors.New("the script has no rules")
	}
	var faults []error
	for i := range s.Rules {
		if err := s.Rules[i].prepare(); err != nil {
			faults = append(faults, fmt.Errorf("rules[%d]: %w", i, err))
		}
	}
	return &s, errors.Join(faults...)
}

func (r *Rule) prepare() error {
	var faults []error
	r.task, r.role = glob(r.Task), glob(r.Role)
	var err error
	if r.match, err = regexp.Compile(r.Match); err != nil {
		faults = append(faults, fmt.Errorf("match: %w", err))
	}
	if len(r.Steps) == 0 {
		faults = append(faults, errors.New("no steps"))
	}
	if r.Attempt < 0 || r.Turn < 0 {
		faults = append(faults, errors.New("attempt and turn count from 1"))
	}
	for i := range r.Steps {
		if err := r.Steps[i].validate(); err != nil {
			faults = append(faults, fmt.Errorf("steps[%d]: %w", i, err))
		}
	}
	return errors.Join(faults...)
}

func (a *Answer) validate() error {
	var faults []error
	if a.Fault != "" && !slices.Contains(Faults(), a.Fault) {
		faults = append(faults, fmt.Errorf("unknown fault %q; known are %s", a.Fault, strings.Join(Faults(), ", ")))
	}
	if a.Fault == "" && !a.says() && a.Finish == "" {
		faults = append(faults, errors.New("neither an answer nor a fault"))
	}
	if a.Times < 0 || a.Chunk < 0 {
		faults = append(faults, errors.New("times and chunk cannot be negative"))
	}
	if a.Times > 0 && a.Fault == "" {
		faults = append(faults, errors.New("times needs a fault"))
	}
	texts := []string{a.Thought, a.Text}
	for i, c := range a.Calls {
		if c.Name == "" {
			faults = append(faults, fmt.Errorf("calls[%d]: no name", i))
		}
		if _, err := regexp.Compile(c.ForEach); err != nil {
			faults = append(faults, fmt.Errorf("calls[%d]: for_each: %w", i, err))
		}
		texts = append(texts, stringsIn(c.Args)...)
	}
	for _, text := range texts {
		if _, err := parseTemplate(text, scope{}); err != nil {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// says reports whether the answer has any content.
func (a *Answer) says() bool { return a.Thought != "" || a.Text != "" || len(a.Calls) > 0 }

// glob compiles a pattern in which * stands for any text and ? for any letter; empty matches everything.
func glob(pattern string) *regexp.Regexp {
	if pattern == "" {
		pattern = "*"
	}
	quoted := regexp.QuoteMeta(pattern)
	quoted = strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(quoted)
	return regexp.MustCompile(`(?s)\A` + quoted + `\z`)
}

// step returns the index of the step that answers a request; -1 when the rule has none.
func (r *Rule) step(req *Request) int {
	purpose := r.Purpose
	if purpose == "" {
		purpose = "turn"
	}
	switch {
	case purpose != "*" && purpose != req.Purpose, r.Attempt != 0 && r.Attempt != req.Attempt,
		!r.task.MatchString(req.Task), !r.role.MatchString(req.Role), !r.match.MatchString(req.Text()):
		return -1
	}
	i := req.Turn - max(r.Turn, 1)
	if r.Repeat && i >= len(r.Steps) {
		i = len(r.Steps) - 1
	}
	if i < 0 || i >= len(r.Steps) {
		return -1
	}
	return i
}
