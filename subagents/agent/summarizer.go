package agent

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"divisi/contextscope/artifact"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/subagents/tool"
	"divisi/subagents/wire"

	"google.golang.org/genai"
)

const (
	purposeSummary = "summary"
	// summaryTokens bounds the answer; summaryPrompt is what the words around the output take of a window, in tokens.
	summaryTokens = 2_000
	summaryPrompt = 6_000
	// maxSummarized bounds, in bytes, what is sent of one output, whatever the window: beyond it reading costs more than it
	// saves. The bounds of what says what is sought are in bytes, too.
	maxSummarized = 1 << 20
	maxSought     = 6_000
	maxBeside     = 2_000
)

//go:embed summarizer.md
var summaryInstruction string

// What the prompt says of an output by its kind.
const (
	aboutListing = "The output is a listing of files. Keep every name that can matter for what is sought, with its path. " +
		"Of the others give each directory with the number of its entries and what they are. Give the total."
	aboutText = "The output is text. Keep what bears on what is sought, word for word where the words decide; of the rest say " +
		"in a sentence or two what it is."
)

// Summarizer summarises tool output with a cheap model.
type Summarizer struct {
	model model.Model
	// name is the model's; window its input limit in tokens and thinking its level, where the project sets them.
	name     string
	window   int
	thinking string
	// fallback stands in while the model is overloaded.
	fallback []model.Candidate
	meta     model.Meta
}

// NewSummarizer returns the summarizer of an attempt: the project's cheap model.
func NewSummarizer(m model.Model, a *wire.Assignment) *Summarizer {
	return &Summarizer{
		model: m, name: a.Project.ModelName(spec.ModelCheap), window: WindowOf(&a.Project, spec.ModelCheap),
		thinking: a.Project.Model(spec.ModelCheap).Thinking, fallback: FallbackOf(&a.Project, spec.ModelCheap),
		meta: model.Meta{Run: a.Run, Task: a.Task.ID, Attempt: a.Attempt, Turn: 1},
	}
}

var _ tool.Summarizer = (*Summarizer)(nil)

// Summarize implements tool.Summarizer. Its errors are a *model.Error. An answer that was cut is none.
func (s *Summarizer) Summarize(ctx context.Context, o tool.LongOutput) (tool.Summary, error) {
	for ev, err := range s.model.Generate(ctx, s.request(&o)) {
		switch {
		case err != nil:
			failed := model.AsError(err)
			return tool.Summary{Usage: failed.Usage}, failed
		case ev.Result != nil:
			return readSummary(ev.Result)
		}
	}
	return tool.Summary{}, &model.Error{Class: model.Truncated, Message: "the answer ended without a result"}
}

func readSummary(r *model.Result) (tool.Summary, error) {
	s := tool.Summary{Text: textOf(r.Content), Usage: r.Usage.Add(r.Wasted)}
	if r.Finish != genai.FinishReasonStop {
		return s, &model.Error{Class: model.Truncated, Message: "the summary ended with " + string(r.Finish), Usage: s.Usage}
	}
	return s, nil
}

func (s *Summarizer) request(o *tool.LongOutput) *model.Request {
	info := model.Lookup(s.name)
	config := &genai.GenerateContentConfig{
		SystemInstruction: genai.NewContentFromText(strings.TrimSpace(summaryInstruction), genai.RoleUser),
		MaxOutputTokens:   summaryTokens,
	}
	thinking := s.thinking
	if thinking == "" && len(info.Thinking) > 0 {
		thinking = info.Thinking[0] // thoughts count as output, and there is little to think about
	}
	if thinking != "" {
		config.ThinkingConfig = &genai.ThinkingConfig{ThinkingLevel: genai.ThinkingLevel(strings.ToUpper(thinking))}
	}
	meta := s.meta
	meta.Purpose = purposeSummary
	text := summaryText(o, maxInput(cmp.Or(s.window, info.Window)))
	return &model.Request{
		Model: s.name, Contents: []*genai.Content{userText(text)}, Config: config, Fallback: s.fallback, Meta: meta,
	}
}

// maxInput is how many bytes of an output fit into a window: two a token, which holds for all but the worst text.
func maxInput(window int) int { return min(maxSummarized, 2*max(window-summaryPrompt, window/4)) }

// summaryText asks for a summary. What is quoted stands between lines with a digest of all of it, which none of it can know.
func summaryText(o *tool.LongOutput, most int) string {
	args, err := json.Marshal(o.Call.Args)
	if err != nil { // they came from JSON
		args = []byte("{}")
	}
	about := aboutText
	if listing(o.Text) {
		about = aboutListing
	}
	id := artifact.Digest([]byte(strings.Join([]string{o.Brief, o.Said, string(args), o.Text}, "\x00")))[:16]
	var b strings.Builder
	for _, part := range []struct {
		head, text string
		most       int
	}{
		{"The task of the agent that made the call:", o.Brief, maxSought},
		{"What the agent said when it made the call:", o.Said, maxBeside},
		{"The arguments of the tool " + o.Call.Name + ":", string(args), maxBeside},
		{"The output:", o.Text, most},
	} {
		if strings.TrimSpace(part.text) != "" {
			fmt.Fprintf(&b, "%s\n<<<BEGIN %s>>>\n%s\n<<<END %s>>>\n\n", part.head, id, headAndTail(part.text, part.most), id)
		}
	}
	return b.String() + about + "\nWrite the summary."
}

// headAndTail bounds a text to about most bytes; errors mostly stand at the end, so that the tail is the larger part.
func headAndTail(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	head, tail := text[:most*2/5], text[len(text)-most*3/5:]
	return fmt.Sprintf("%s\n[%d bytes are left out here]\n%s",
		strings.ToValidUTF8(head, ""), len(text)-len(head)-len(tail), strings.ToValidUTF8(tail, ""))
}

var (
	// A line of ls -l, of find, ls and git ls-files, or of tree.
	listedLine = regexp.MustCompile("^[-dlcbps][-rwxsStT]{9}.? +\\d|" +
		"^[│├└─|`\\s-]*[^\\s:;,(){}<>\"'=]*[\\pL\\pN][^\\s:;,(){}<>\"'=]*[/*@=:]?$")
	listingSum = regexp.MustCompile(`^total \d|^\d+ director(?:y|ies), \d+ files?$`)
)

// listing says whether a text is mostly names of files, one a line.
func listing(text string) bool {
	names, lines := 0, 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" || listingSum.MatchString(line) {
			continue
		}
		lines++
		if listedLine.MatchString(line) {
			names++
		}
	}
	return lines >= 5 && names*5 >= lines*4
}
