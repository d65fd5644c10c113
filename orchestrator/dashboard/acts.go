package dashboard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"divisi/orchestrator/act"
)

// maxBody bounds what a browser sends, in bytes: an act may name thousands of tasks.
const maxBody = 1 << 20

// Arguments of acts that a browser may send under another name too, but for the one in the address.
const (
	ofDecision = "decision" // is in the address
	ofTask     = "task"     // may be the one of tasks
	ofReason   = "reason"   // may be the text
	byHand     = "hold"     // is none of an act: the run holds back what the page sends
	sentTasks  = "tasks"
	sentText   = "text"
)

// errForeign is told of what no act of the page takes.
var errForeign = wrong("the request is not the JSON that this address takes")

// fields are the allowed fields of a browser's acts about a decision, or of the others.
func fields(decides bool) map[string]*jsonschema.Schema {
	out := map[string]*jsonschema.Schema{byHand: {
		Type: "boolean", Description: "Hold it back for ten seconds, in which it can be taken back.",
	}}
	for _, e := range act.All() {
		takes := e.Schema().Properties
		if e.Doors&act.API == 0 || decides != (takes[ofDecision] != nil) {
			continue
		}
		for name, p := range takes {
			switch also := aliases[name]; {
			case name == ofDecision:
				continue
			case also != "" && !decides:
				out[also] = shared[also]
			}
			if out[name] = p; !decides && shared[name] != nil {
				out[name] = shared[name]
			}
		}
	}
	return out
}

// aliases are other names of arguments, and shared the fields that mean something else to each act.
var (
	aliases = map[string]string{ofTask: sentTasks, ofReason: sentText}
	shared  = map[string]*jsonschema.Schema{
		ofTask: {Type: "string", Description: "The id of the task, of an act on one."},
		sentTasks: {
			Type: "array", Items: &jsonschema.Schema{Type: "string"}, Description: "The ids of the tasks, or the one task.",
		},
		sentText: {Type: "string", Description: "The message, or the reason."},
	}
)

// asked are the arguments of an act, of what a browser has sent. A field of another act is left out where it is empty.
func asked(e *act.Entry, decision string, sent map[string]json.RawMessage) (act.Args, error) {
	known, takes, args := fields(decision != ""), e.Schema().Properties, map[string]any{}
	for name, v := range sent {
		switch {
		case known[name] == nil:
			return nil, fmt.Errorf("%s has no field %.80q", e.Name, name)
		case takes[name] != nil:
			args[name] = v
		case empty(v):
		case name == sentText && takes[ofReason] != nil && empty(sent[ofReason]):
			args[ofReason] = v
		case name == sentTasks && takes[ofTask] != nil && empty(sent[ofTask]):
			var tasks []string
			if err := json.Unmarshal(v, &tasks); err != nil {
				return nil, errForeign
			}
			if len(tasks) > 1 {
				return nil, fmt.Errorf("%s is for no task, or for one", e.Name)
			}
			args[ofTask] = tasks[0]
		default:
			return nil, fmt.Errorf("%s takes no %s: leave it out", e.Name, name)
		}
	}
	if decision != "" {
		args[ofDecision] = decision
	}
	return e.With(args)
}

// offered is an act as the page draws its button and its dialog.
type offered struct {
	Name     string    `json:"name"`
	Label    string    `json:"label"`
	Help     string    `json:"help"`
	Warn     string    `json:"warn,omitempty"`
	WarnTask string    `json:"warn_task,omitempty"`
	Undone   string    `json:"undone"`
	Loses    bool      `json:"loses,omitempty"`
	Asks     []act.Ask `json:"asks,omitempty"`
}

// offers are the acts that the page has a button for, whenever a run or a task has them.
func offers() (out []offered) {
	for _, e := range act.All() {
		if e.Doors&act.Page == 0 {
			continue
		}
		o := offered{e.Name, e.Label, e.Help, e.Warn, e.WarnTask, e.Undone(act.OnButton), e.Loses, e.Asks()}
		for i := range o.Asks {
			if o.Asks[i].Name == ofReason {
				o.Asks[i].Name = sentText
			}
		}
		out = append(out, o)
	}
	return out
}

// empty reports whether a field has no value, or one that says nothing.
func empty(field json.RawMessage) bool {
	var v any
	if len(field) == 0 || json.Unmarshal(field, &v) != nil {
		return len(field) == 0
	}
	list, _ := v.([]any)
	return v == nil || v == "" || v == false || v == 0.0 || list != nil && len(list) == 0
}

// act does something to a run, or to tasks of it.
func (s *Server) act(r *http.Request) (any, error) {
	sent, err := bodyOf(r)
	if err != nil {
		return nil, err
	}
	var verb string
	err = json.Unmarshal(sent["verb"], &verb)
	delete(sent, "verb")
	e := act.Find(verb)
	if err != nil || e == nil || e.Doors&act.API == 0 || e.Schema().Properties[ofDecision] != nil {
		err = wrong(fmt.Sprintf("unknown verb %.80q", verb))
		s.misasked(r.PathValue("run"), by(r.Context()).Name, verb, err)
		return nil, err
	}
	return s.do(r, e, sent)
}

// decide answers a decision as the browser showed it, or takes the answer to it back.
func (s *Server) decide(name string) answer {
	return func(r *http.Request) (any, error) {
		sent, err := bodyOf(r)
		if err != nil {
			return nil, err
		}
		return s.do(r, act.Find(name), sent)
	}
}

func (s *Server) do(r *http.Request, e *act.Entry, sent map[string]json.RawMessage) (any, error) {
	run := r.PathValue("run")
	var hold bool
	held, given := sent[byHand]
	delete(sent, byHand)
	a, err := asked(e, r.PathValue("id"), sent)
	if given && json.Unmarshal(held, &hold) != nil {
		err = errForeign
	}
	if err != nil {
		s.misasked(run, by(r.Context()).Name, e.Name, err)
		return nil, wrong(err.Error())
	}
	if _, known := s.overview.has(run); !known {
		return nil, errNoRun
	}
	defer s.soon()
	if hold {
		a = act.ByHand(a)
	}
	return s.opts.Controller.Act(r.Context(), run, by(r.Context()).Name, a)
}

func (s *Server) misasked(run, by, verb string, err error) {
	if s.opts.Misasked != nil {
		s.opts.Misasked(run, by, verb, err)
	}
}

// bodyOf reads what a browser sends.
func bodyOf(r *http.Request) (sent map[string]json.RawMessage, err error) {
	data, err := io.ReadAll(r.Body)
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, &refusedError{http.StatusRequestEntityTooLarge, fmt.Sprintf("a request has at most %d bytes", maxBody)}
	case err != nil:
		return nil, wrong("the request did not arrive whole")
	case !utf8.Valid(data):
		return nil, wrong("a request is UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&sent); err != nil || d.More() {
		return nil, errForeign
	}
	return sent, nil
}
