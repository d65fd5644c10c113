package command

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"google.golang.org/genai"

	"divisi/internal/model"
	"divisi/internal/text"
	"divisi/subagents/command/bill"
	"divisi/subagents/gate"
	"divisi/subagents/wire"
)

// mindTries is how often a program is asked for one answer that can be read.
const mindTries = 3

// Mind is a model whose answers a coding agent's program gives: each is a new process, which is told the conversation as JSON
// on its standard input, and prints its calls as JSON. It keeps nothing between them, and writes nothing that counts.
type Mind struct{ c *Executor }

// NewMind makes the mind of an attempt. The executor is not run besides; done closes what it holds.
func NewMind(ctx context.Context, c *Executor) (m *Mind, done func(), err error) {
	c.given = c.Secrets
	if why := c.Secrets.missing(&c.Assignment.Role); why != "" {
		return nil, nil, &wire.RefusedError{Class: wire.FaultCommand, Err: fmt.Errorf("%s", why)}
	}
	if c.service, err = c.openService(ctx); err != nil {
		return nil, nil, &wire.RefusedError{Class: wire.FaultCommand, Err: err}
	}
	return &Mind{c}, c.service.close, nil
}

// Turn is what the program of a mind is told.
type Turn struct {
	// Instruction is that of its role, Conversation what was said so far, the oldest first.
	Instruction  string `json:"instruction"`
	Conversation []Said `json:"conversation"`
	// Calls are what it can answer with; without one it answers in words.
	Calls []*genai.FunctionDeclaration `json:"calls,omitempty"`
	// Answer states the form of the answer, Fault what was wrong with the one before.
	Answer string `json:"answer"`
	Fault  string `json:"fault,omitempty"`
}

// Said is one step of a conversation: words, calls, or what they returned.
type Said struct {
	By      string `json:"by"`
	Text    string `json:"text,omitempty"`
	Call    string `json:"call,omitempty"`
	Content any    `json:"content,omitempty"`
}

// Generate implements model.Model.
func (m *Mind) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		news, over := make(chan string), make(chan struct{})
		var res *model.Result
		var err error
		go func() {
			defer close(over)
			res, err = m.answer(ctx, req, func(chunk []byte) {
				select {
				case news <- strings.ToValidUTF8(string(chunk), "?"):
				case <-ctx.Done():
				}
			})
		}()
		for {
			select {
			case words := <-news: // a sign of life; what it prints may be JSON, and is not the answer
				if !yield(model.Event{Delta: &genai.Part{Text: words, Thought: true}}, nil) {
					stop()
					<-over
					return
				}
			case <-over:
				if err != nil {
					yield(model.Event{}, model.AsError(err))
				} else {
					yield(model.Event{Result: res}, nil)
				}
				return
			}
		}
	}
}

// answer asks the program until its answer can be read.
func (m *Mind) answer(ctx context.Context, req *model.Request, heard func([]byte)) (*model.Result, error) {
	turn := turnOf(req)
	res := &model.Result{Finish: genai.FinishReasonStop, Model: m.c.Assignment.Role.Usage}
	for try := 1; ; try++ {
		words, cut, err := m.ask(ctx, &turn, heard)
		if err != nil {
			return nil, err
		}
		parts, fault := read(words, turn.Calls)
		if fault != "" && cut > 0 {
			fault = fmt.Sprintf("the answer is %d bytes longer than is read: dispatch fewer tasks, or one with a shard rule", cut)
		}
		switch {
		case fault == "":
			res.Content = &genai.Content{Role: genai.RoleModel, Parts: parts}
			return res, nil
		case try == mindTries:
			return nil, &model.Error{
				Class: model.MalformedCall,
				Message: fmt.Sprintf("the agent's answer could not be read, in %d tries: %s; it said: %s", try, fault,
					text.Clip(oneLine(words), maxFault)),
			}
		}
		turn.Fault = fault
	}
}

// ask runs the program once, and returns its last words, without cut bytes in their middle. Its use is noted as that of every
// program, and is none of the answer's.
func (m *Mind) ask(ctx context.Context, turn *Turn, heard func([]byte)) (words string, cut int64, err error) {
	c, role := m.c, &m.c.Assignment.Role
	if why := c.service.ready(ctx); why != nil {
		return "", 0, why
	}
	reader := bill.NewReader(role.Usage)
	out, err := c.start(ctx, commandRun{args: c.args()}, turn, reader, func(chunk []byte) { c.said(chunk); heard(chunk) })
	printed := c.Secrets.hideInBill(reader.Bill())
	unpaid := c.service.fault()
	if c.service.gateway == nil {
		unpaid = c.pay(ctx, printed.Lines)
	}
	switch {
	case ctx.Err() != nil:
		return "", 0, ctx.Err()
	case unpaid != nil:
		return "", 0, unpaid
	case err != nil:
		return "", 0, &model.Error{Class: model.Invalid, Message: err.Error()}
	}
	out.Head, out.Tail = c.Secrets.hideBytes(out.Head), c.Secrets.hideBytes(out.Tail)
	if how := howEnded(role, c.args(), out, printed); how != "" {
		if why := c.service.outside(); why != nil {
			return "", 0, why
		}
		how += refusals(out) + c.service.denied()
		return "", 0, &model.Error{Class: model.Invalid, Message: how + ": " + text.Tail(out.Text(), gate.MaxTail)}
	}
	if printed.Answer != "" {
		return printed.Answer, 0, nil
	}
	return out.Text(), out.Omitted, nil
}

// answerForm states the answer that a program with calls gives.
const answerForm = `Answer with one JSON object and nothing else: {"calls": [{"name": "...", "arguments": {...}}]}. The names and
arguments are those of calls; say what you decide by them alone. Change no file: what you change is lost.`

// turnOf is a request as the program is told it.
func turnOf(req *model.Request) Turn {
	turn := Turn{Answer: "Answer in plain words."}
	if req.Config != nil {
		turn.Instruction = wordsOf(req.Config.SystemInstruction)
		for _, t := range req.Config.Tools {
			turn.Calls = append(turn.Calls, t.FunctionDeclarations...)
		}
	}
	if len(turn.Calls) > 0 {
		turn.Answer = strings.ReplaceAll(answerForm, "\n", " ")
	}
	for _, content := range req.Contents {
		for _, p := range content.Parts {
			by := cmp.Or(content.Role, genai.RoleUser)
			switch {
			case p.FunctionCall != nil:
				turn.Conversation = append(turn.Conversation,
					Said{By: by, Call: p.FunctionCall.Name, Content: p.FunctionCall.Args})
			case p.FunctionResponse != nil:
				turn.Conversation = append(turn.Conversation,
					Said{By: by, Call: p.FunctionResponse.Name, Content: p.FunctionResponse.Response})
			case p.Text != "" && !p.Thought:
				turn.Conversation = append(turn.Conversation, Said{By: by, Text: p.Text})
			}
		}
	}
	return turn
}

func wordsOf(c *genai.Content) string {
	var all []string
	if c != nil {
		for _, p := range c.Parts {
			all = append(all, p.Text)
		}
	}
	return strings.Join(all, "\n")
}

// read makes parts of an answer, or states its fault.
func read(words string, calls []*genai.FunctionDeclaration) (parts []*genai.Part, fault string) {
	if len(calls) == 0 {
		return []*genai.Part{{Text: words}}, ""
	}
	var answer struct {
		Calls []struct {
			Name      string         `json:"name"`
			Arguments map[string]any `json:"arguments"`
		} `json:"calls"`
	}
	from, to := strings.IndexByte(words, '{'), strings.LastIndexByte(words, '}')
	if from < 0 || to < from {
		return nil, "the answer has no JSON object"
	}
	if err := json.Unmarshal([]byte(words[from:to+1]), &answer); err != nil {
		return nil, "the answer is no JSON object of the form asked for: " + err.Error()
	}
	if len(answer.Calls) == 0 {
		return nil, "the answer has no calls"
	}
	known := map[string]bool{}
	var names []string
	for _, c := range calls {
		known[c.Name] = true
		names = append(names, c.Name)
	}
	for _, c := range answer.Calls {
		if !known[c.Name] {
			return nil, fmt.Sprintf("unknown call %q: the calls are %s", text.Clip(c.Name, maxModel), strings.Join(names, ", "))
		}
		parts = append(parts, &genai.Part{FunctionCall: &genai.FunctionCall{ID: rand.Text(), Name: c.Name, Args: c.Arguments}})
	}
	return parts, ""
}
